#ifndef FOREBAY_CLIENT_FOREBAY_TENSOR_H_
#define FOREBAY_CLIENT_FOREBAY_TENSOR_H_

/* Part of the C interface of libforebay.so: see forebay.h for status, threads,
 * ownership and errors.
 *
 * Fields of batches as tensors on a GPU, in memory of the library's, for
 * frameworks that take them by DLPack:
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
 * Fork: in a child, all fail with FOREBAY_FORKED, but those that end something,
 * which do nothing. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The memory for tensors on one GPU, one for the whole process. It goes to
 * later tensors once the streams that had it are done with it. The part that is
 * idle goes back to the driver when the last user closes the pool, or when the
 * GPU is short of memory. */
typedef struct forebay_tensor_pool forebay_tensor_pool;
typedef struct forebay_tensor forebay_tensor;

/* Opens the pool of CUDA's device `device` of this process, in its primary
 * context. Blocks for the driver. FOREBAY_INVALID_ARGUMENT: there is no such
 * GPU. FOREBAY_UNIMPLEMENTED: no GPU plug-in is installed, or it does not fit.
 * End it with forebay_tensor_pool_close. */
FOREBAY_EXPORT forebay_status
forebay_tensor_pool_open(int32_t device, forebay_tensor_pool** out);

/* Tensors outlive it. The last of a GPU's waits for the streams that had the
 * idle memory. NULL does nothing. */
FOREBAY_EXPORT void forebay_tensor_pool_close(forebay_tensor_pool* pool);

/* Makes a tensor of field `index` of a batch that lies on the pool's GPU, or on
 * the host; in C order. Queues that on a stream of the library's; the batch may
 * be released at once. Waits for the copy if the field lies on the host, and
 * for memory if the streams that have it are not known: see
 * forebay_tensor_use_anywhere. FOREBAY_INVALID_ARGUMENT: no such field, one of
 * varying length, or another GPU. FOREBAY_RESOURCE_EXHAUSTED: the GPU has no
 * memory left. End it with forebay_tensor_release. */
FOREBAY_EXPORT forebay_status forebay_tensor_make(forebay_tensor_pool* pool,
                                                  forebay_batch* batch,
                                                  uint32_t index,
                                                  forebay_tensor** out);

typedef struct forebay_tensor_type {
  forebay_dtype dtype;
  uint32_t rank; /* dimensions; 0 to 6 */
  uint64_t shape[6];
} forebay_tensor_type;

/* Likewise, makes a tensor of the elements from byte `offset` on of a field
 * that lies on the pool's GPU, and is no image. */
FOREBAY_EXPORT forebay_status forebay_tensor_make_part(
    forebay_tensor_pool* pool, forebay_batch* batch, uint32_t index,
    uint64_t offset, const forebay_tensor_type* type, forebay_tensor** out);

/* Likewise, makes a tensor of elements in the caller's own memory, in C order.
 * Waits for the copy. */
FOREBAY_EXPORT forebay_status
forebay_tensor_from_host(forebay_tensor_pool* pool, const void* data,
                         const forebay_tensor_type* type, forebay_tensor** out);

/* Makes another of the elements as they are after all that those streams have
 * queued that the tensor was exported for. Waits and fails as
 * forebay_tensor_make. */
FOREBAY_EXPORT forebay_status forebay_tensor_copy(const forebay_tensor* tensor,
                                                  forebay_tensor** out);

typedef enum forebay_export_flags FOREBAY_INT {
  /* A DLManagedTensorVersioned of DLPack 1.0; else a DLManagedTensor. */
  FOREBAY_VERSIONED = 1,
  /* Says in it that the caller has made a copy. Needs FOREBAY_VERSIONED. */
  FOREBAY_IS_COPIED = 2
} forebay_export_flags;

/* Writes the tensor as DLPack has it: it has the memory until its deleter runs,
 * and is writable. `stream` is the one that goes on only once the tensor is
 * made, numbered as by DLPack's __dlpack__: 1 is the legacy default stream, 2
 * the per-thread default stream, above a CUstream of the GPU's primary context,
 * and -1 none. The memory is used again after all that the stream has queued
 * when the deleter runs, so it exists until then. For -1 and 2 see
 * forebay_tensor_use_anywhere. The deleter waits only for room in the stream.
 * It calls CUDA, so not from a host function. FOREBAY_FAILED_PRECONDITION if
 * the stream is captured into a CUDA graph. */
FOREBAY_EXPORT forebay_status forebay_tensor_export(
    const forebay_tensor* tensor, int flags, intptr_t stream, void** out);

/* Says that work on other streams than those it is exported for uses the
 * tensor, as JAX's does. Its memory is used again only once the GPU is at rest:
 * waiting for that ends the capture of a CUDA graph, if there is one. */
FOREBAY_EXPORT forebay_status
forebay_tensor_use_anywhere(const forebay_tensor* tensor);

/* What was exported lives on. NULL does nothing. */
FOREBAY_EXPORT void forebay_tensor_release(forebay_tensor* tensor);

/* ---- For Python ----
 *
 * What a capsule of CPython's with an exported tensor needs. Its destructor
 * runs whatever exception is on its way, so it is no Python. */

/* "dltensor" or "dltensor_versioned". Static. */
FOREBAY_EXPORT const char* forebay_capsule_name(int flags);

/* The destructor, which calls the deleter of a tensor that nobody has consumed:
 * whoever does renames the capsule. It is given CPython's PyCapsule_IsValid and
 * PyCapsule_GetPointer, the same in each call; a PyObject* is a void* here. */
typedef int (*forebay_capsule_is_valid)(void* capsule, const char* name);
typedef void* (*forebay_capsule_pointer)(void* capsule, const char* name);
typedef void (*forebay_capsule_destructor)(void* capsule);
FOREBAY_EXPORT forebay_capsule_destructor forebay_capsule_get_destructor(
    forebay_capsule_is_valid is_valid, forebay_capsule_pointer pointer);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_TENSOR_H_ */
