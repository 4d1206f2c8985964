#ifndef FOREBAY_CLIENT_FOREBAY_TENSOR_H_
#define FOREBAY_CLIENT_FOREBAY_TENSOR_H_

/* Part of the C interface of libforebay.so: see forebay.h for status, threads,
 * ownership and errors.
 *
 * Fields of batches become tensors on a GPU, in memory of the library's, for
 * frameworks that take tensors by DLPack:
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
 * A caller that has memory of its own on the GPU needs none of this: see
 * forebay_batch_put.
 *
 * Threads: any thread may call anything here, and the deleters.
 *
 * Fork: in a child, all functions fail with FOREBAY_FORKED, except for those
 * that end something, which do nothing. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The memory for tensors on one GPU; a process has one pool for each GPU. A
 * tensor's memory is used again for later tensors once the streams that used it
 * are done. Idle memory goes back to the driver when the last user closes the
 * pool, or when the GPU is short of memory. */
typedef struct forebay_tensor_pool forebay_tensor_pool;
typedef struct forebay_tensor forebay_tensor;

/* Opens the pool of CUDA's device `device` of this process, in its primary
 * context. Blocks for the driver. FOREBAY_INVALID_ARGUMENT: there is no such
 * GPU. FOREBAY_UNIMPLEMENTED: no GPU plug-in is installed, or it does not fit.
 * End it with forebay_tensor_pool_close. */
FOREBAY_EXPORT forebay_status
forebay_tensor_pool_open(int32_t device, forebay_tensor_pool** out);

/* Closes the pool, which its tensors outlive. The last call for a GPU waits for
 * the streams that used the idle memory. NULL does nothing. */
FOREBAY_EXPORT void forebay_tensor_pool_close(forebay_tensor_pool* pool);

/* Makes a tensor, in C order, of field `index` of a batch that lies on the
 * pool's GPU, or on the host. Queues the work on a stream of the library's; the
 * batch may be released at once. Waits for the copy if the field lies on the
 * host. Waits for memory if the streams that use it are not known: see
 * forebay_tensor_use_anywhere.
 *
 * FOREBAY_INVALID_ARGUMENT: no such field, a field of varying length, or a
 * field on another GPU. FOREBAY_RESOURCE_EXHAUSTED: the GPU has no memory left.
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

/* Copies a tensor, after all work that is queued on the streams that the tensor
 * was exported for. Waits and fails as forebay_tensor_make does. */
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
 * `stream` goes on only once the tensor is made. Streams are numbered as in
 * DLPack's __dlpack__: 1 is the legacy default stream, 2 the per-thread default
 * stream, -1 no stream; other numbers are a CUstream of the GPU's primary
 * context. The memory is used again after all work that is queued on the stream
 * when the deleter runs, so the caller keeps the stream until then. For -1 and
 * 2 see forebay_tensor_use_anywhere. FOREBAY_FAILED_PRECONDITION if the stream
 * is captured into a CUDA graph.
 *
 * The deleter waits only for room in the stream. It calls CUDA, so a host
 * function of CUDA's must not call it. */
FOREBAY_EXPORT forebay_status forebay_tensor_export(
    const forebay_tensor* tensor, int flags, intptr_t stream, void** out);

/* Says that a framework, such as JAX, also uses the tensor on streams that it
 * was not exported for. The tensor's memory is used again only once the GPU is
 * idle. Waiting for that ends the capture of a CUDA graph, if there is one. */
FOREBAY_EXPORT forebay_status
forebay_tensor_use_anywhere(const forebay_tensor* tensor);

/* Frees the handle; exported structs live on. NULL does nothing. */
FOREBAY_EXPORT void forebay_tensor_release(forebay_tensor* tensor);

/* ---- For Python ----
 *
 * The name and the destructor of a CPython capsule that has an exported tensor.
 * The destructor is not Python code, as it also runs while an exception is
 * pending. */

/* Returns "dltensor" or "dltensor_versioned", in static memory. */
FOREBAY_EXPORT const char* forebay_capsule_name(int flags);

/* Returns the destructor, which calls the deleter of a tensor that nobody has
 * consumed: a consumer renames the capsule. The caller passes CPython's
 * PyCapsule_IsValid and PyCapsule_GetPointer, the same in each call, as the
 * library does not link CPython. A PyObject* is a void* here. */
typedef int (*forebay_capsule_is_valid)(void* capsule, const char* name);
typedef void* (*forebay_capsule_pointer)(void* capsule, const char* name);
typedef void (*forebay_capsule_destructor)(void* capsule);
FOREBAY_EXPORT forebay_capsule_destructor forebay_capsule_get_destructor(
    forebay_capsule_is_valid is_valid, forebay_capsule_pointer pointer);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_TENSOR_H_ */
