#ifndef FOREBAY_CLIENT_FOREBAY_TENSOR_H_
#define FOREBAY_CLIENT_FOREBAY_TENSOR_H_

/* Part of the C interface of libforebay.so: see forebay.h for status, threads,
 * ownership and errors.
 *
 * Makes tensors on a GPU from fields of batches, for frameworks that take
 * tensors by DLPack. The library owns the tensors' memory:
 *
 *   forebay_tensor_pool* pool;
 *   if (forebay_tensor_pool_open(0, &pool) != FOREBAY_OK) ...
 *   forebay_tensor* image;
 *   forebay_tensor_make(pool, batch, 0, &image);
 *   forebay_batch_release(batch);
 *   void* managed;
 *   forebay_tensor_export(image, 0, (intptr_t)stream, &managed);
 *   forebay_tensor_release(image);
 *   ... consumes `managed`, and calls its deleter once
 *   forebay_tensor_pool_close(pool);
 *
 * A caller that has its own memory on the GPU uses forebay_batch_put instead.
 *
 * Threads: any thread may call the functions here, and the deleters.
 *
 * Fork: in a child, functions that close, release or delete something do
 * nothing. All other functions fail with FOREBAY_FORKED. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The memory for tensors on one GPU; a process has one pool for each GPU. A
 * tensor's memory is reused for later tensors once the streams that used it are
 * done. Idle memory goes back to the driver when the last user closes the pool,
 * or when the GPU is short of memory. */
typedef struct forebay_tensor_pool forebay_tensor_pool;
typedef struct forebay_tensor forebay_tensor;

/* Opens the pool of CUDA's device `device` of this process, in its primary
 * context. Blocks for the driver. FOREBAY_INVALID_ARGUMENT: there is no such
 * GPU. FOREBAY_UNIMPLEMENTED: there is no GPU plug-in that works, or no driver.
 * End *out with forebay_tensor_pool_close. */
FOREBAY_EXPORT forebay_status
forebay_tensor_pool_open(int32_t device, forebay_tensor_pool** out);

/* Closes the pool. Its tensors outlive it. The last call for a GPU waits for
 * the streams that used the idle memory. NULL does nothing. */
FOREBAY_EXPORT void forebay_tensor_pool_close(forebay_tensor_pool* pool);

/* Makes a tensor, in C order, of field `index` of a batch that lies on the
 * pool's GPU, or on the host. Queues the work on the library's own stream; the
 * caller may release the batch at once. Waits for the copy if the field lies on
 * the host. May also wait until the GPU is idle, to reuse memory after
 * forebay_tensor_use_anywhere.
 *
 * FOREBAY_INVALID_ARGUMENT: there is no such field, its length varies, or it
 * lies on another GPU. FOREBAY_RESOURCE_EXHAUSTED: the GPU has no memory left.
 * End *out with forebay_tensor_release. */
FOREBAY_EXPORT forebay_status forebay_tensor_make(forebay_tensor_pool* pool,
                                                  forebay_batch* batch,
                                                  uint32_t index,
                                                  forebay_tensor** out);

typedef struct forebay_tensor_type {
  forebay_dtype dtype;
  uint32_t rank; /* dimensions; 0 to 6 */
  uint64_t shape[6];
} forebay_tensor_type;

/* Makes a tensor of `type` from the elements at byte `offset` of a field that
 * lies on the pool's GPU and is not an image. Queues, waits and fails as
 * forebay_tensor_make does. */
FOREBAY_EXPORT forebay_status forebay_tensor_make_part(
    forebay_tensor_pool* pool, forebay_batch* batch, uint32_t index,
    uint64_t offset, const forebay_tensor_type* type, forebay_tensor** out);

/* Makes a tensor of `type` from elements in the caller's own memory, in C
 * order. Waits for the copy, and fails as forebay_tensor_make does. */
FOREBAY_EXPORT forebay_status
forebay_tensor_from_host(forebay_tensor_pool* pool, const void* data,
                         const forebay_tensor_type* type, forebay_tensor** out);

/* Copies a tensor. The copy is made after all work that is queued on the
 * streams for which the tensor was exported. Waits and fails as
 * forebay_tensor_make does. */
FOREBAY_EXPORT forebay_status forebay_tensor_copy(const forebay_tensor* tensor,
                                                  forebay_tensor** out);

typedef enum forebay_export_flags FOREBAY_INT {
  /* Exports a DLManagedTensorVersioned of DLPack 1.0. Without this flag, the
   * export is a DLManagedTensor. */
  FOREBAY_VERSIONED = 1,
  /* Says in the exported struct that the caller has made a copy. Needs
   * FOREBAY_VERSIONED. */
  FOREBAY_IS_COPIED = 2
} forebay_export_flags;

/* Exports the tensor as a DLPack struct, which holds the memory until its
 * deleter runs, and is writable.
 *
 * Work that is queued on `stream` later waits until the tensor is made. Streams
 * are numbered as in DLPack's __dlpack__: 1 is the legacy default stream, 2 the
 * per-thread default stream, -1 no stream; other numbers are a CUstream of the
 * GPU's primary context. The memory is reused only after all work that is
 * queued on the stream when the deleter runs. The caller therefore must not
 * destroy the stream before the deleter has run. For -1 and 2 see
 * forebay_tensor_use_anywhere. FOREBAY_FAILED_PRECONDITION if the stream is
 * captured into a CUDA graph.
 *
 * The deleter waits only for room in the stream. It calls CUDA, so a host
 * function of CUDA (cuLaunchHostFunc) must not call the deleter. */
FOREBAY_EXPORT forebay_status forebay_tensor_export(
    const forebay_tensor* tensor, int flags, intptr_t stream, void** out);

/* Says that a framework, such as JAX, also uses the tensor on streams for which
 * the tensor was not exported. The tensor's memory is then reused only once the
 * GPU is idle. Waiting for an idle GPU breaks the capture of a CUDA graph, if
 * one is under way. */
FOREBAY_EXPORT forebay_status
forebay_tensor_use_anywhere(const forebay_tensor* tensor);

/* Frees the handle; exported structs live on. NULL does nothing. */
FOREBAY_EXPORT void forebay_tensor_release(forebay_tensor* tensor);

/* ---- For Python ----
 *
 * The name and the destructor of a CPython capsule that holds an exported
 * tensor. The destructor is C code because it may run while an exception is
 * pending. */

/* Returns "dltensor" or "dltensor_versioned", in static memory. */
FOREBAY_EXPORT const char* forebay_capsule_name(int flags);

/* Returns the capsule's destructor. A consumer of the tensor renames the
 * capsule; if nobody has renamed it, the destructor calls the tensor's deleter.
 * The caller passes CPython's PyCapsule_IsValid and PyCapsule_GetPointer,
 * because the library does not link CPython. All calls must pass the same two
 * functions. PyObject* is written as void*. */
typedef int (*forebay_capsule_is_valid)(void* capsule, const char* name);
typedef void* (*forebay_capsule_pointer)(void* capsule, const char* name);
typedef void (*forebay_capsule_destructor)(void* capsule);
FOREBAY_EXPORT forebay_capsule_destructor forebay_capsule_get_destructor(
    forebay_capsule_is_valid is_valid, forebay_capsule_pointer pointer);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_TENSOR_H_ */
