#ifndef FOREBAY_CLIENT_FOREBAY_OBJECT_H_
#define FOREBAY_CLIENT_FOREBAY_OBJECT_H_

/* Ranges of single files and objects, from the cache that all jobs share.
 *
 *   forebay_object_reader* reader;
 *   forebay_object_reader_open(&options, &reader);
 *   forebay_object_range range = {"/data", directory, "train.csv", NULL,
 *                                 0, 1 << 20, 1 << 20};
 *   forebay_object_ask(reader, &range);
 *   forebay_object_part part;
 *   if (forebay_object_await(reader, -1, &part) != FOREBAY_OK) ...
 *   // part.bytes of part.data; larger files: go on with &part.version
 *
 * Threads: a reader belongs to one thread at a time; the library starts none.
 * Ownership: as in forebay.h. A part points to memory that the daemon writes,
 * which is readable until the next forebay_object_ask. Fork: the child may free
 * its parent's reader and open another; all other calls return FOREBAY_FORKED.
 * Errors: as in forebay.h. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A session with the daemon, by which ranges of any objects are read. */
typedef struct forebay_object_reader forebay_object_reader;

/* The state of an object. */
typedef struct forebay_object_version {
  uint64_t size; /* bytes */
  /* A file's mtime in nanoseconds since the epoch; an object's generation, or
   * another number that changes with it. */
  int64_t stamp;
  uint64_t inode;      /* 0: unknown */
  int64_t ctime_nanos; /* 0: unknown */
} forebay_object_version;

typedef struct forebay_object_range {
  /* The folder's URI, at most 4096 bytes. */
  const char* root;
  /* Its descriptor, which stays the caller's; -1: the daemon finds the URI
   * itself ("gs://bucket/prefix", "s3://...", "hdfs://...", "https://..."). */
  int directory;
  const char* name; /* below the folder */
  /* The state that the object must still have. NULL: as it is at present; it is
   * then read only if it has no more than `length` bytes, from offset 0 on. */
  const forebay_object_version* version;
  /* Whole blocks of block_bytes, but for the object's last one; at most
   * 16 MiB. */
  uint64_t offset;
  uint64_t length;
  /* Bytes of a block, by which the daemon reads and caches: a power of two,
   * 64 KiB to 16 MiB. */
  uint32_t block_bytes;
} forebay_object_range;

typedef struct forebay_object_part {
  forebay_object_version version;
  const void* data; /* NULL if there are none */
  uint64_t bytes;
} forebay_object_part;

/* Connects to the daemon; blocks for at most 10 s. Of the options, runtime_dir,
 * job_key, job_name and weight count. FOREBAY_UNAVAILABLE: no daemon listens.
 * End *out with forebay_object_reader_free. */
FOREBAY_EXPORT forebay_status forebay_object_reader_open(
    const forebay_loader_options* options, forebay_object_reader** out);

/* Asks for a range. The caller must have awaited the one before. */
FOREBAY_EXPORT forebay_status forebay_object_ask(
    forebay_object_reader* reader, const forebay_object_range* range);

/* Waits until the range is there, at most `timeout_seconds` (negative: without
 * end). FOREBAY_INTERRUPTED and FOREBAY_TIMEOUT: call again to go on waiting.
 * FOREBAY_FAILED_PRECONDITION: the object has changed, or is gone, since it had
 * that version. FOREBAY_UNAVAILABLE: the daemon is gone.
 * FOREBAY_SOURCE_UNAVAILABLE: it cannot reach the object at present.
 * FOREBAY_UNIMPLEMENTED: it is too old for this. */
FOREBAY_EXPORT forebay_status
forebay_object_await(forebay_object_reader* reader, double timeout_seconds,
                     forebay_object_part* out);

/* NULL does nothing. */
FOREBAY_EXPORT void forebay_object_reader_free(forebay_object_reader* reader);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_OBJECT_H_ */
