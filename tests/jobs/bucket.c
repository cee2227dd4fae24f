// A mounted bucket, as mountpoint-s3 is one, for a program that is started with this library in
// LD_PRELOAD. Below the folder $BUCKET
//   - a file is what was written once it is closed, and not there before, whatever fsync says;
//   - nothing is renamed, and no file that is there is opened to be written, but with O_TRUNC;
//   - there are no locks;
//   - statfs tells FUSE.
// With BUCKET_KILL=N the process is killed before the Nth operation that changes anything. With
// BUCKET_COUNT=FILE that file has, at the end, how many there were.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { kMostFiles = 4096 };

static char* written[kMostFiles];  // by descriptor: the path of what is being written
static atomic_int operations;

static int InBucket(const char* path) {
  const char* const bucket = getenv("BUCKET");
  return bucket != NULL && strncmp(path, bucket, strlen(bucket)) == 0;
}

static void Operate(void) {
  const int now = ++operations;
  const char* const last = getenv("BUCKET_KILL");
  if (last != NULL && now >= atoi(last)) {
    kill(getpid(), SIGKILL);
    pause();
  }
}

__attribute__((destructor)) static void Count(void) {
  const char* const path = getenv("BUCKET_COUNT");
  FILE* const file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%d\n", operations);
  fclose(file);
}

static int OpenObject(const char* path, int flags) {
  const int is_there = syscall(SYS_access, path, F_OK) == 0;
  if (is_there && (flags & O_TRUNC) == 0) {
    errno = EPERM;
    return -1;
  }
  if (!is_there && (flags & O_CREAT) == 0) {
    errno = ENOENT;
    return -1;
  }
  Operate();
  const int fd = memfd_create("object", MFD_CLOEXEC);
  if (fd < 0) return fd;
  if (fd >= kMostFiles) abort();
  written[fd] = strdup(path);
  return fd;
}

static int Open(const char* path, int flags, int mode) {
  if (InBucket(path) && (flags & O_ACCMODE) != O_RDONLY) return OpenObject(path, flags);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  return Open(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  return Open(path, flags, mode);
}

// The object appears in one step: its bytes go to a name that nobody looks for, which is renamed.
static int Upload(int fd, const char* path) {
  char coming[4096];
  snprintf(coming, sizeof coming, "%s.coming", path);
  const int to =
      (int)syscall(SYS_openat, AT_FDCWD, coming, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (to < 0) return -1;
  char bytes[1 << 16];
  off_t at = 0;
  for (ssize_t n; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n) {
    if (write(to, bytes, (size_t)n) != n) return -1;
  }
  syscall(SYS_close, to);
  return (int)syscall(SYS_rename, coming, path);
}

int close(int fd) {
  int result = 0;
  if (fd >= 0 && fd < kMostFiles && written[fd] != NULL) {
    char* const path = written[fd];
    written[fd] = NULL;
    Operate();
    result = Upload(fd, path);
    free(path);
  }
  const int closed = (int)syscall(SYS_close, fd);
  return result == 0 ? closed : result;
}

int fsync(int fd) {
  if (fd >= 0 && fd < kMostFiles && written[fd] != NULL) return 0;
  return (int)syscall(SYS_fsync, fd);
}

int rename(const char* from, const char* to) {
  if (InBucket(from) || InBucket(to)) {
    errno = ENOSYS;
    return -1;
  }
  return (int)syscall(SYS_rename, from, to);
}

int unlink(const char* path) {
  if (InBucket(path)) Operate();
  return (int)syscall(SYS_unlink, path);
}

int flock(int fd, int operation) {
  (void)fd, (void)operation;
  errno = ENOSYS;
  return -1;
}

int statfs(const char* path, struct statfs* system) {
  const int result = (int)syscall(SYS_statfs, path, system);
  if (result == 0 && InBucket(path)) system->f_type = FUSE_SUPER_MAGIC;
  return result;
}

int statfs64(const char* path, struct statfs64* system) {
  return statfs(path, (struct statfs*)system);
}
