#ifndef TPUEST_HOOK_H_
#define TPUEST_HOOK_H_
/* A hook of a job in a shared library: {type: plugin, path: libmine.so}. The library has these five
   functions, in C's way. All are called from the thread that trains. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPUEST_HOOK_VERSION 1

/* The run that begins. Texts live until tpuest_hook_begin returns. */
typedef struct tpuest_hook_run {
  int32_t version; /* TPUEST_HOOK_VERSION: later ones have more fields at the end */
  int32_t trains;  /* 1 in a training, 0 in an evaluation or a prediction */
  int64_t global_step;
  const char* model_dir;
  int64_t argument_count; /* of the job's `arguments` */
  const char* const* argument_names;
  const char* const* argument_values;
} tpuest_hook_run;

/* A step that was made. In an evaluation or a prediction a batch, whose number the step is. */
typedef struct tpuest_hook_step {
  int64_t step;        /* the global step after it */
  float loss;          /* before the update; NaN: there is none */
  float learning_rate; /* NaN: there is none */
} tpuest_hook_step;

/* The hook's own state, which the others are given; NULL: it cannot begin, and the run ends. */
void* tpuest_hook_begin(const tpuest_hook_run* run);

/* Before a loop of steps. Not 0: the run ends without it. */
int32_t tpuest_hook_before(void* hook, int64_t global_step);

/* After a loop, with its steps. Not 0: the run ends here. */
int32_t tpuest_hook_after(void* hook, int64_t global_step, const tpuest_hook_step* steps,
                          int64_t count);

/* After the last loop; not if the run ends by an error. */
void tpuest_hook_end(void* hook, int64_t global_step);

/* The last call, whatever the end. */
void tpuest_hook_free(void* hook);

#ifdef __cplusplus
}
#endif

#endif /* TPUEST_HOOK_H_ */
