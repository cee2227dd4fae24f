#ifndef TPUEST_HOOK_H_
#define TPUEST_HOOK_H_
/* A hook of a job in a shared library: {type: plugin, path: libmine.so}. The library exports these
   five functions with C linkage. All calls come from the training thread. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPUEST_HOOK_VERSION 1

/* The run that begins. Its strings live until tpuest_hook_begin returns. */
typedef struct tpuest_hook_run {
  int32_t version; /* TPUEST_HOOK_VERSION: later versions add fields at the end */
  int32_t trains;  /* 1 in training, 0 in an evaluation or a prediction */
  int64_t global_step;
  const char* model_dir;
  int64_t argument_count; /* number of the job's `arguments` */
  const char* const* argument_names;
  const char* const* argument_values;
} tpuest_hook_run;

/* A completed step. In an evaluation or a prediction it is a batch, and `step` is its number. */
typedef struct tpuest_hook_step {
  int64_t step;        /* the global step after it */
  float loss;          /* before the update; NaN if there is none */
  float learning_rate; /* NaN if there is none */
} tpuest_hook_step;

/* Returns the hook's state, which is passed to the other functions; NULL ends the run. */
void* tpuest_hook_begin(const tpuest_hook_run* run);

/* Called before a loop of steps. A result other than 0 ends the run without that loop. */
int32_t tpuest_hook_before(void* hook, int64_t global_step);

/* Called after a loop, with its steps. A result other than 0 ends the run here. */
int32_t tpuest_hook_after(void* hook, int64_t global_step, const tpuest_hook_step* steps,
                          int64_t count);

/* Called after the last loop, unless the run ends by an error. */
void tpuest_hook_end(void* hook, int64_t global_step);

/* Always the last call, however the run ends. */
void tpuest_hook_free(void* hook);

#ifdef __cplusplus
}
#endif

#endif /* TPUEST_HOOK_H_ */
