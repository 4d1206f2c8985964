#ifndef FOREBAY_CLIENT_FOREBAY_H_
#define FOREBAY_CLIENT_FOREBAY_H_

/* The C interface of libforebay.so, by which a training process reads batches
 * from forebayd.
 *
 * Open a loader, start an epoch, take its batches one by one, and release each
 * when it is no longer read:
 *
 *   forebay_loader_options options;
 *   forebay_loader_options_init(&options, sizeof options);
 *   options.job_key = "my-training";
 *   options.uri = "/data/train";
 *   options.batch_size = 256;
 *   forebay_loader* loader;
 *   if (forebay_loader_create(&options, NULL, &loader) != FOREBAY_OK) ...
 *   if (forebay_loader_open(loader, -1) != FOREBAY_OK) ...
 *   forebay_loader_start_epoch(loader, 0, 0);
 *   forebay_batch* batch;
 *   while (forebay_loader_next(loader, -1, &batch) == FOREBAY_OK) {
 *     forebay_field image;
 *     forebay_batch_field(batch, 0, &image);
 *     ...
 *     forebay_batch_release(batch);
 *   }
 *   forebay_loader_free(loader);
 *
 * Sections: status; library; types of data; daemon; pipelines; loader options;
 * loaders; batches; epochs. forebay_dataset.h makes datasets of other datasets
 * or of arrays in memory. forebay_reader.h reads single samples, for callers
 * that make batches themselves.
 *
 * Threads: the library starts none. Any thread may read, retain and release
 * batches. On one loader, create, open, start_epoch, stop_epoch and next belong
 * to one thread at a time; info, class_name, stats and close may run beside
 * them. Different loaders are independent.
 *
 * Ownership: the caller owns what a function writes to an `out` pointer, and
 * frees it with the function that the comment names. The library copies the
 * strings and arrays that callers pass.
 *
 * Fork: batches that the parent holds stay readable in the child. Releasing
 * them there frees only the child's memory. In the child, calls on the parent's
 * loaders return FOREBAY_FORKED, except for close and free.
 *
 * Errors: functions return a status; forebay_last_error() then returns one
 * sentence for people. No function exits, aborts or throws. */

#include <stddef.h>
#include <stdint.h>

/* Gives enums the type int in C++, too, so that any number is a valid argument.
 * The library refuses numbers that it does not know. */
#ifdef __cplusplus
#define FOREBAY_INT : int
#else
#define FOREBAY_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FOREBAY_EXPORT __attribute__((visibility("default")))
#else
#define FOREBAY_EXPORT
#endif

/* ---- Status ---- */

typedef enum forebay_status FOREBAY_INT {
  FOREBAY_OK = 0,
  /* The epoch has no more batches. */
  FOREBAY_END_OF_EPOCH = 1,
  /* A signal arrived. Call again with the same arguments to go on. */
  FOREBAY_INTERRUPTED = 2,
  /* The timeout has passed. Call again with the same arguments to go on. */
  FOREBAY_TIMEOUT = 3,
  FOREBAY_INVALID_ARGUMENT = 4,
  FOREBAY_NOT_FOUND = 5,
  FOREBAY_PERMISSION_DENIED = 6,
  /* Memory or another bounded resource of the daemon is used up. */
  FOREBAY_RESOURCE_EXHAUSTED = 7,
  /* The call does not fit the loader's state. */
  FOREBAY_FAILED_PRECONDITION = 8,
  /* No daemon listens, or it went away and did not come back. */
  FOREBAY_UNAVAILABLE = 9,
  /* A sample cannot be used; the epoch is over. */
  FOREBAY_DATA_ERROR = 10,
  /* The daemon cannot do what the caller asked for. */
  FOREBAY_UNIMPLEMENTED = 11,
  /* The loader belongs to the parent of this process. */
  FOREBAY_FORKED = 12,
  /* A fault of the library or of the daemon. */
  FOREBAY_INTERNAL = 13,
  /* The daemon cannot reach the dataset at present. */
  FOREBAY_SOURCE_UNAVAILABLE = 14,
  /* The caller's own code that makes a sample failed, and the epoch is over.
   * forebay_last_error returns the message of that code. */
  FOREBAY_PRODUCER_FAILED = 15
} forebay_status;

/* ---- Library ---- */

/* Returns the library's version, such as "0.1.0", in static memory. */
FOREBAY_EXPORT const char* forebay_version(void);

/* Returns one sentence that says why the last failed call of this thread
 * failed; "" if none has failed. The text lives until the thread's next call.
 */
FOREBAY_EXPORT const char* forebay_last_error(void);

/* ---- Types of data ---- */

/* Element types. The numbers equal those of DataType in proto/dataset.proto. */
typedef enum forebay_dtype FOREBAY_INT {
  FOREBAY_UINT8 = 1,
  FOREBAY_FLOAT16 = 2,
  FOREBAY_BFLOAT16 = 3,
  FOREBAY_FLOAT32 = 4,
  FOREBAY_INT64 = 5,
  FOREBAY_FLOAT64 = 6,
  FOREBAY_INT32 = 7,
  FOREBAY_INT16 = 8,
  FOREBAY_INT8 = 9,
  FOREBAY_BOOL = 10, /* one byte, 0 or 1 */
  FOREBAY_UINT16 = 11,
  FOREBAY_UINT32 = 12,
  FOREBAY_UINT64 = 13
} forebay_dtype;

typedef enum forebay_field_kind FOREBAY_INT {
  FOREBAY_IMAGE = 1,
  FOREBAY_LABEL = 2, /* an integer */
  FOREBAY_SAMPLE_ID = 3,
  /* Texts, JSON and bytes are bytes of varying length: see row_splits. */
  FOREBAY_TEXT = 4, /* UTF-8 */
  FOREBAY_JSON = 5, /* UTF-8; not parsed */
  FOREBAY_BYTES = 6,
  /* An array: the content of a .npy file, one row of it, or a decoded audio
   * file. A decoded audio file is float32 of shape (frames, channels). All
   * samples have the same type. Their shapes are equal, or differ only in the
   * first axis: see row_splits. */
  FOREBAY_ARRAY = 7
} forebay_field_kind;

/* A field of a batch or of a sample. */
typedef struct forebay_field {
  const char* name; /* lives as long as the batch */
  forebay_field_kind kind;
  forebay_dtype dtype;
  uint32_t rank; /* number of dimensions, 1 to 6, with the batch's */
  uint64_t shape[6];
  /* The elements in C order, page-aligned. This process may overwrite them.
   * Only this process sees its changes, which end when the batch is released.
   */
  void* data;
  uint64_t bytes; /* size of `data` in bytes */
  /* Offsets into the first axis, one more than there are samples. Sample i has
   * the rows from row_splits[i] up to row_splits[i + 1], which is excluded.
   * NULL if every sample has the same shape. */
  const int64_t* row_splits;
} forebay_field;

/* ---- Daemon ---- */

/* Writes to `path` the directory in which the library looks for the daemon's
 * socket. The directory is the first of these: $FOREBAY_RUNTIME_DIR, if set;
 * /run/forebay, if a daemon's socket is there; $XDG_RUNTIME_DIR/forebay, if
 * $XDG_RUNTIME_DIR exists; /tmp/forebay-UID. `path` has room for `size` bytes.
 * FOREBAY_INVALID_ARGUMENT: the path and its NUL do not fit. */
FOREBAY_EXPORT forebay_status forebay_runtime_dir(char* path, size_t size);

/* Returns FOREBAY_OK if a trusted daemon accepts connections in `runtime_dir`
 * (NULL: the directory of forebay_runtime_dir). FOREBAY_PERMISSION_DENIED: the
 * directory or the socket belongs to another user. FOREBAY_UNAVAILABLE: no
 * daemon listens. Blocks for at most 10 s. */
FOREBAY_EXPORT forebay_status forebay_ping(const char* runtime_dir);

/* ---- Pipelines: decode and transforms, as data ----
 *
 * Ops are appended in the order in which they act; names and numerics follow
 * torchvision.transforms.v2. The daemon checks the whole pipeline when the
 * loader is opened. Heights and widths are 1 to 65535 pixels. A pipeline
 * belongs to one thread at a time. */
typedef struct forebay_pipeline forebay_pipeline;

/* The ways to resize images. The first three give Pillow's results; the
 * bilinear and the bicubic one antialias. FOREBAY_BILINEAR_ALIASED always uses
 * the four pixels around a point, even if the image becomes much smaller.
 * OpenCV's INTER_LINEAR and torchvision's antialias=False do the same. */
typedef enum forebay_interpolation FOREBAY_INT {
  FOREBAY_NEAREST = 1,
  FOREBAY_BILINEAR = 2,
  FOREBAY_BICUBIC = 3,
  FOREBAY_BILINEAR_ALIASED = 4
} forebay_interpolation;

typedef enum forebay_padding_mode FOREBAY_INT {
  FOREBAY_PAD_CONSTANT = 1,
  FOREBAY_PAD_EDGE = 2,
  FOREBAY_PAD_REFLECT = 3,
  FOREBAY_PAD_SYMMETRIC = 4
} forebay_padding_mode;

typedef enum forebay_layout FOREBAY_INT {
  FOREBAY_NCHW = 1,
  FOREBAY_NHWC = 2
} forebay_layout;

typedef struct forebay_padding {
  uint32_t left, top, right, bottom; /* pixels, 0 to 65535 */
  /* The values of added pixels, 0 to 255: one value for all channels, or one
   * for each channel. Without values, added pixels are 0. */
  const double* fill;
  size_t fill_count;
  forebay_padding_mode mode;
} forebay_padding;

/* Bounds from which a factor is drawn uniformly, both included. */
typedef struct forebay_range {
  double min, max;
} forebay_range;

/* Returns an empty pipeline, which decodes images to uint8 NCHW; NULL only if
 * memory is short. End it with forebay_pipeline_free, which also takes NULL. */
FOREBAY_EXPORT forebay_pipeline* forebay_pipeline_new(void);
FOREBAY_EXPORT void forebay_pipeline_free(forebay_pipeline* pipeline);

/* Resizes images to height x width. If `width` is 0, the shorter edge becomes
 * `height`, and the aspect ratio stays. Then max_size bounds the longer edge
 * (0: no bound). */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_resize(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width,
    uint32_t max_size, forebay_interpolation interpolation);
FOREBAY_EXPORT forebay_status forebay_pipeline_add_center_crop(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width);
/* Crops images at a random place. `padding` is added before the crop; NULL adds
 * none. With pad_if_needed, an image smaller than the crop is padded to the
 * crop's size. `padding` also says how this padding is filled. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_random_crop(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width,
    const forebay_padding* padding, int pad_if_needed);
/* Crops a random part of an image and resizes it to height x width. `scale`:
 * the part's share of the image's area, above 0; `ratio`: the part's width over
 * its height. torchvision's defaults are 0.08 to 1 and 3/4 to 4/3. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_random_resized_crop(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width,
    forebay_range scale, forebay_range ratio,
    forebay_interpolation interpolation);
/* Flips images with a probability of 0 to 1. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_random_horizontal_flip(
    forebay_pipeline* pipeline, double probability);
FOREBAY_EXPORT forebay_status forebay_pipeline_add_random_vertical_flip(
    forebay_pipeline* pipeline, double probability);
/* Changes colors at random. `brightness`, `contrast` and `saturation` are
 * ranges of factors, 0 or more; `hue` is a range of shifts within [-0.5, 0.5].
 * NULL leaves that property unchanged. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_color_jitter(
    forebay_pipeline* pipeline, const forebay_range* brightness,
    const forebay_range* contrast, const forebay_range* saturation,
    const forebay_range* hue);
/* Makes images gray, with `channels` equal channels: 1 or 3. */
FOREBAY_EXPORT forebay_status
forebay_pipeline_add_grayscale(forebay_pipeline* pipeline, uint32_t channels);
FOREBAY_EXPORT forebay_status forebay_pipeline_add_pad(
    forebay_pipeline* pipeline, const forebay_padding* padding);
/* Replaces each value x by (x - mean) / std. `mean` and `std` have one value
 * for each channel, or one for all; no std may be 0. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_normalize(
    forebay_pipeline* pipeline, const double* mean, size_t mean_count,
    const double* std, size_t std_count);
/* Normalizes arrays in the same way. If `mean` or `std` has several values,
 * value i is for index i of axis `axis`. Negative axes count from the last. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_normalize_axis(
    forebay_pipeline* pipeline, const double* mean, size_t mean_count,
    const double* std, size_t std_count, int32_t axis);
/* Converts values to `dtype`. With `scale`, images of a floating type have
 * values of 0 to 1 in place of 0 to 255. Integers of arrays are divided by the
 * largest number of their type. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_to_dtype(
    forebay_pipeline* pipeline, forebay_dtype dtype, int scale);
FOREBAY_EXPORT forebay_status forebay_pipeline_add_to_image(
    forebay_pipeline* pipeline, forebay_layout layout);
/* Adds an op of any kind, for images, arrays or audio. `bytes` are a serialized
 * forebay.proto.Op (proto/job.proto), whose fields are in the order of their
 * numbers. INVALID_ARGUMENT: the message has a field that this library does not
 * know. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_op(
    forebay_pipeline* pipeline, const void* bytes, size_t size);

/* The next two ops say how images are decoded. They come before all other
 * transforms, in this order. */
/* With `scaled`, a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, if the
 * first resize makes the image smaller by at least that factor. */
FOREBAY_EXPORT forebay_status
forebay_pipeline_add_decode(forebay_pipeline* pipeline, int scaled);
/* Turns images upright by their EXIF orientation. */
FOREBAY_EXPORT forebay_status
forebay_pipeline_add_exif_transpose(forebay_pipeline* pipeline);

/* The next three ops are only for arrays. They must come before normalize and
 * to_dtype. Negative axes count from the last. */
/* Keeps the elements [start, stop) of an axis, as a slice in Python does. If
 * `stop` is NULL, keeps all elements from `start` on. */
FOREBAY_EXPORT forebay_status
forebay_pipeline_add_slice(forebay_pipeline* pipeline, int64_t start,
                           const int64_t* stop, int32_t axis);
/* Keeps `length` successive elements of an axis, from a random place on. All
 * arrays of a sample that have the same length are cut at the same place. A
 * shorter array is an error; with pad_if_needed, it gets zeros at its end. */
FOREBAY_EXPORT forebay_status
forebay_pipeline_add_random_window(forebay_pipeline* pipeline, uint64_t length,
                                   int32_t axis, int pad_if_needed);
/* Reorders axes: axis i of the result is axis order[i] of the array. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_transpose(
    forebay_pipeline* pipeline, const uint32_t* order, size_t rank);
/* Adds the transforms of the field named `field`, an array or an image. For an
 * image field, `transforms` replace the pipeline's own ops. The library copies
 * `transforms`. */
FOREBAY_EXPORT forebay_status
forebay_pipeline_add_array(forebay_pipeline* pipeline, const char* field,
                           const forebay_pipeline* transforms);

/* ---- Audio ---- Audio transforms take only arrays of float32 whose first axis
 * is the time. A clip has the shape (frames) or (frames, channels). Names and
 * defaults follow torchaudio.transforms; 0 means the default. After an audio
 * transform, all other transforms of arrays are allowed again. */

typedef enum forebay_resampling_method FOREBAY_INT {
  FOREBAY_SINC_HANN = 1,
  FOREBAY_SINC_KAISER = 2
} forebay_resampling_method;

typedef struct forebay_resampling {
  uint32_t orig_freq; /* Hz; 0: each clip's own rate, from its file */
  uint32_t new_freq;  /* Hz */
  forebay_resampling_method method;
  uint32_t lowpass_filter_width;
  double rolloff;
  const double* beta; /* for FOREBAY_SINC_KAISER; NULL: the default */
  /* The lowest sample rate of any clip, in Hz; 0: the first clip's rate. If
   * orig_freq is 0, the daemon plans its memory by this rate. */
  uint32_t lowest_freq;
} forebay_resampling;

typedef enum forebay_gain_type FOREBAY_INT {
  FOREBAY_GAIN_AMPLITUDE = 1,
  FOREBAY_GAIN_POWER = 2,
  FOREBAY_GAIN_DB = 3
} forebay_gain_type;

typedef enum forebay_fft_window FOREBAY_INT {
  FOREBAY_HANN = 1,
  FOREBAY_HAMMING = 2,
  FOREBAY_BLACKMAN = 3,
  FOREBAY_BARTLETT = 4,
  FOREBAY_RECTANGULAR = 5
} forebay_fft_window;

typedef enum forebay_normalized FOREBAY_INT {
  FOREBAY_NOT_NORMALIZED = 1,
  FOREBAY_BY_WINDOW = 2,
  FOREBAY_BY_FRAME_LENGTH = 3
} forebay_normalized;

typedef struct forebay_spectrogram {
  uint32_t n_fft, win_length, hop_length, pad;
  forebay_fft_window window;
  uint32_t power; /* 1 or 2 */
  forebay_normalized normalized;
  int center;
  forebay_padding_mode pad_mode; /* FOREBAY_PAD_REFLECT or _CONSTANT */
} forebay_spectrogram;

typedef enum forebay_mel_scale FOREBAY_INT {
  FOREBAY_MEL_HTK = 1,
  FOREBAY_MEL_SLANEY = 2
} forebay_mel_scale;

typedef struct forebay_mel_spectrogram {
  forebay_spectrogram spectrogram;
  uint32_t sample_rate; /* Hz */
  uint32_t n_mels;
  double f_min;        /* Hz; the lowest frequency of the bands */
  const double* f_max; /* Hz; NULL: half of sample_rate */
  forebay_mel_scale mel_scale;
  int norm; /* whether each band is divided by its width */
} forebay_mel_spectrogram;

typedef enum forebay_amplitude_scale FOREBAY_INT {
  FOREBAY_POWER = 1,
  FOREBAY_MAGNITUDE = 2
} forebay_amplitude_scale;

FOREBAY_EXPORT forebay_status forebay_pipeline_add_resample(
    forebay_pipeline* pipeline, const forebay_resampling* resampling);
/* Takes the mean of the channels: (frames, channels) becomes (frames). */
FOREBAY_EXPORT forebay_status
forebay_pipeline_add_to_mono(forebay_pipeline* pipeline);
FOREBAY_EXPORT forebay_status forebay_pipeline_add_vol(
    forebay_pipeline* pipeline, double gain, forebay_gain_type gain_type);
/* Makes spectrograms: (frames) becomes (times, n_fft / 2 + 1), and (frames,
 * channels) becomes (times, channels, n_fft / 2 + 1). */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_spectrogram(
    forebay_pipeline* pipeline, const forebay_spectrogram* spectrogram);
FOREBAY_EXPORT forebay_status forebay_pipeline_add_mel_spectrogram(
    forebay_pipeline* pipeline, const forebay_mel_spectrogram* mel);
/* Converts amplitudes to decibels. Values that are more than `top_db` below the
 * sample's largest value are raised to that bound. NULL: no bound. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_amplitude_to_db(
    forebay_pipeline* pipeline, forebay_amplitude_scale stype,
    const double* top_db);
FOREBAY_EXPORT forebay_status forebay_pipeline_add_mfcc(
    forebay_pipeline* pipeline, const forebay_mel_spectrogram* mel,
    uint32_t n_mfcc, int ortho, int log_mels);
/* Sets a run of successive times to 0, at a random place. The run is shorter
 * than time_mask_param, and at most the share `p` (0 to 1) of all times. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_time_masking(
    forebay_pipeline* pipeline, uint32_t time_mask_param, double p);
/* Sets a run of successive elements of the last axis to 0, at a random place.
 * The run is shorter than freq_mask_param. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_frequency_masking(
    forebay_pipeline* pipeline, uint32_t freq_mask_param);

/* ---- Loader options ---- */

typedef enum forebay_format FOREBAY_INT {
  /* Class folders of images. If `fields` are "audio" and "label": class folders
   * of audio files. If `fields` is only "audio": the audio files directly in
   * the folder. */
  FOREBAY_IMAGE_FOLDER = 1,
  /* Tar shards as webdataset writes them: consecutive members are one sample if
   * their names are equal up to the first dot. */
  FOREBAY_WEBDATASET = 2,
  /* A table that names an image or an audio file in each row. The table is CSV
   * with a line of names. If its name ends in .jsonl, .ndjson or .json, each
   * line is a JSON object instead. */
  FOREBAY_MANIFEST = 3,
  /* NumPy's .npy files, one after the other. Each row (the elements at one
   * index of the first axis) is a sample with one field, "array". All files
   * have the same type, and rows of the same shape. If there is a `root` but no
   * `shards`, or if `uri` ends in "/", each file below that folder is a sample
   * with the field "array". If files lie directly in the folder, these are the
   * samples. If they lie in class folders, samples also have the field "label".
   * If files lie in both places, `fields` chooses: "array" alone, or "array"
   * and "label". */
  FOREBAY_NPY = 9,
  /* TFRecord files, one after the other. Each record is a sample. */
  FOREBAY_TFRECORD = 10,
  /* Class folders of images in zip archives, as if these were unpacked into one
   * tree. */
  FOREBAY_ZIP = 11,
  /* LMDB environments, one after the other: folders with a file data.mdb, or
   * the paths of such files. Each entry is a sample. Samples are in the order
   * of the keys. */
  FOREBAY_LMDB = 12,
  /* MosaicML's MDS shards, one after the other. */
  FOREBAY_MDS = 13,
  /* HDF5 files, one after the other. Sample i is row i of each dataset that
   * `fields` names. */
  FOREBAY_HDF5 = 14,
  /* NumPy's .npz files: see `fields`. */
  FOREBAY_NPZ = 15,
  /* Files of tokens. Each sample is a window of successive tokens: see
   * `fields`. */
  FOREBAY_TOKENS = 16,
  /* ArrayRecord files, which Grain reads, one after the other. Each record is
   * a sample. */
  FOREBAY_ARRAY_RECORD = 17
} forebay_format;

typedef enum forebay_order FOREBAY_INT {
  FOREBAY_SEQUENTIAL = 1,
  FOREBAY_SHUFFLE = 2, /* a full shuffle; seed and epoch key it */
  /* Shuffles blocks of some megabytes of consecutive samples, then the samples
   * of every few successive blocks. Seed and epoch key this shuffle, too. */
  FOREBAY_BLOCK_SHUFFLE = 3,
  /* Takes each epoch's samples from a list that the caller gives: see
   * forebay_loader_start_listed_epoch. */
  FOREBAY_LISTED = 4,
  /* The daemon picks one order for all loaders of this host that read the
   * dataset with FOREBAY_COORDINATED, so that they want each sample at about
   * the same time. Each sample comes once in each epoch. The order is uniformly
   * random. To go on in mid-epoch, a loader that is opened anew calls
   * forebay_loader_start_listed_epoch. */
  FOREBAY_COORDINATED = 5
} forebay_order;

/* The rule for samples that do not divide evenly among the ranks. */
typedef enum forebay_uneven FOREBAY_INT {
  FOREBAY_WRAP = 1,     /* repeat samples from the start */
  FOREBAY_DROP = 2,     /* leave out samples at the end */
  FOREBAY_EACH_ONCE = 3 /* each sample exactly once; ranks differ by one */
} forebay_uneven;

/* How loaders, of any job, that want the same batches share them. The daemon
 * then makes each such batch once. */
typedef enum forebay_sharing FOREBAY_INT {
  FOREBAY_ELASTIC = 1, /* each loader at its own pace; none waits for another */
  FOREBAY_LOCKSTEP = 2, /* no loader gets ahead of another by more batches than
                         * there are slots */
  FOREBAY_ALONE = 3     /* the daemon makes batches for this loader alone */
} forebay_sharing;

typedef enum forebay_on_error FOREBAY_INT {
  FOREBAY_RAISE = 1,     /* a corrupt sample ends the epoch with an error */
  FOREBAY_SUBSTITUTE = 2 /* another sample replaces it, and is counted */
} forebay_on_error;

typedef struct forebay_dataset forebay_dataset; /* see forebay_dataset.h */

typedef struct forebay_loader_options {
  size_t size; /* bytes of this struct; forebay_loader_options_init sets it */

  /* The directory of the daemon's socket; NULL: the directory that
   * forebay_runtime_dir finds. */
  const char* runtime_dir;
  /* The job that the loader belongs to: 1 to 256 bytes; required. All loaders
   * of one user that have equal keys belong to the same job. */
  const char* job_key;
  /* Names of the job and of the loader, for people, at most 256 bytes each.
   * NULL means job_key and "loader N". */
  const char* job_name;
  const char* name;
  /* The job's share of contended resources: 0.001 to 1000; default 1. */
  double weight;

  /* The dataset's name for people, at most 4096 bytes; required unless
   * `dataset` is set. */
  const char* uri;
  /* The dataset's folder. If it is NULL, `uri` is the path of the folder
   * (FOREBAY_IMAGE_FOLDER), of the manifest (FOREBAY_MANIFEST) or of the files
   * (all other formats). A path of files may have the wildcards *, ? and [...],
   * and braces ("{00..12}.tar", "{a,b}.tar"), which are expanded first. The
   * daemon itself reads "gs://bucket/...", "s3://bucket/...",
   * "hdfs://host/...", "webhdfs://host:port/...", "http://..." and
   * "https://...", with its own credentials. */
  const char* root;
  forebay_format format; /* default FOREBAY_IMAGE_FOLDER */
  /* Further folders to which symbolic links inside the dataset may lead; at
   * most 8. Only for datasets that are folders. */
  const char* const* extra_roots;
  size_t extra_root_count;

  forebay_order order;   /* default FOREBAY_SEQUENTIAL */
  uint64_t seed;         /* keys the shuffle and every augmentation */
  uint32_t rank;         /* 0 to world_size - 1; default 0 */
  uint32_t world_size;   /* 1 to 2^20; default 1 */
  forebay_uneven uneven; /* default FOREBAY_WRAP */

  uint32_t batch_size;       /* samples, 1 to 65536; default 1 */
  int drop_last;             /* leave out a smaller last batch; default 0 */
  forebay_on_error on_error; /* default FOREBAY_RAISE */
  /* The largest number of batches prepared ahead, 1 to 16; 0 (default) means 2.
   * A slow trainer gets fewer, because more batches would only wait for it. */
  uint32_t depth;

  /* For FOREBAY_WEBDATASET, FOREBAY_NPY, FOREBAY_TFRECORD, FOREBAY_ZIP,
   * FOREBAY_LMDB, FOREBAY_MDS, FOREBAY_HDF5, FOREBAY_NPZ, FOREBAY_TOKENS and
   * FOREBAY_ARRAY_RECORD with a `root`: the files' paths below that folder,
   * with braces and wildcards as in `uri`. */
  const char* const* shards;
  size_t shard_count;
  /* For FOREBAY_WEBDATASET: the fields of a batch, 1 to 15. Each is a member's
   * extension, or several with semicolons between: "jpg;png" is the first of
   * the two that a sample has. The part of the extension after its last dot
   * gives the kind: jpg, jpeg, png, webp, avif, gif, bmp, tif, tiff, ppm, pgm,
   * pbm and pnm are images; cls, cls2, class, count, index, inx and id are
   * integers; txt, text and transcript are texts; json and jsn are JSON; npy is
   * an array; wav, flac, ogg, opus and mp3 are audio. Members with other
   * extensions are bytes.
   *
   * For FOREBAY_MANIFEST: the fields' names, each read from the entry of
   * `columns` with the same index. Exactly one field is "image" or "audio". Its
   * column has paths of images or audio files, relative to the manifest. The
   * column of "label" has integers or names of classes. All other columns have
   * integers or texts.
   *
   * For FOREBAY_TFRECORD and FOREBAY_ARRAY_RECORD: names of features of each
   * record's tf.train.Example or SequenceExample, at most 31 bytes each. The
   * entry of `columns` with the same index is a type. "image", "jpg" and "png"
   * are images; "audio" is an audio file; "int64" is an integer; "text" and
   * "json" are UTF-8; "npy" is a .npy file; "bytes" is bytes. "float32[3,4]" is
   * an array of that type and shape, "float32[n,4]" is an array of any length,
   * and "float32" is a number. Arrays are lists of float32 or int64, or the
   * bytes of their elements, little-endian and in C order. A single field with
   * the name "" is the whole record, as the field "record". Without fields, the
   * daemon guesses them.
   *
   * For FOREBAY_LMDB, if values are Examples: the same as for FOREBAY_TFRECORD.
   * A single field with the name "" is the whole value, as the field "value".
   * A field "value", alone or beside "key", means the same; "key" is the
   * entry's key ("text", "bytes" or "int64"). The value's type may also be
   * "datum": Caffe's Datum gives the fields "image" or "array", and "label".
   * The type "lsun" gives the fields "image" and "label": the value is an
   * image, and its label is the number of its environment.
   *
   * For FOREBAY_MDS: names of columns. The entry of `columns` with the same
   * index is a type, or "" for the type of the column's encoding. Without
   * fields: all columns that can be read.
   *
   * For FOREBAY_HDF5: paths of datasets, "train/images", or of members of their
   * compounds, "train/table/x". A path may have an asterisk, which this comment
   * writes as ?: "data/?/image" names the dataset "image" in each object of the
   * group "data". Each object is then a sample. The entry of `columns` with the
   * same index is a type, or "" for the type of the dataset's rows. Without
   * fields: all datasets with the most frequent number of rows.
   *
   * For FOREBAY_NPZ: names of arrays. All entries of `columns` are equal.
   * "rows": sample i is row i of each array, and the files follow one another.
   * "files": each file is a sample. A single field with the name "" stands for
   * all arrays.
   *
   * For FOREBAY_TOKENS: names of settings, each with its value in `columns`.
   * "length": tokens of a window, or "document" for a whole document.
   * "stride": tokens from one window's start to the next one's; default:
   * `length`.
   * "dtype": the type of tokens in files without a header; default: files are
   * .npy, or Megatron-LM's ".bin" with ".idx".
   * "documents": whether windows cross documents' ends: "cross" (default) or
   * "each".
   * "tail": whether a shorter last window is a sample: "drop" (default) or
   * "keep".
   * "targets": "1" adds a second field "targets", the same window one token
   * further on; default "0". */
  const char* const* fields;
  size_t field_count;
  /* The columns, types or values of `fields`; there are field_count of them.
   * For FOREBAY_MANIFEST, FOREBAY_TFRECORD, FOREBAY_LMDB, FOREBAY_MDS,
   * FOREBAY_HDF5, FOREBAY_NPZ, FOREBAY_TOKENS and FOREBAY_ARRAY_RECORD. */
  const char* const* columns;

  forebay_sharing sharing; /* default FOREBAY_ELASTIC */
  /* The seconds for which open, start_epoch and next keep trying, with growing
   * pauses, while the daemon is away or a source cannot be reached. They then
   * attach to the next daemon, and the epoch goes on with its next sample.
   * Default: $FOREBAY_REATTACH_SECONDS, or 60 if that is not set; negative:
   * without end. With 0, they return FOREBAY_UNAVAILABLE or
   * FOREBAY_SOURCE_UNAVAILABLE at once, and the caller calls
   * forebay_loader_reattach. */
  double reattach_seconds;

  /* The dataset to read. NULL: the dataset that `uri`, `root`, `format` and
   * their options describe. The library does not keep the pointer. */
  const forebay_dataset* dataset;

  /* CUDA's number, in this process, of the GPU on which the images, labels and
   * arrays of batches lie: see forebay_batch_put. Default -1: on the host. */
  int32_t device;

  /* For FOREBAY_ZIP: the folder, inside the archives, that contains the class
   * folders; NULL: the archives' root. Without a `root`, `uri` ends in this
   * folder, too: "/data/all.zip/train" for "train". */
  const char* folder;

  /* For FOREBAY_LMDB: the name of the database in the files; NULL: the unnamed
   * database. */
  const char* database;

  /* The field that gives a sample's length: elements along the first axis of an
   * array, or bytes of another field. NULL: the first array whose length
   * differs between samples. If there is none: the first other field whose
   * length differs. */
  const char* length_field;
  /* The largest sum of the lengths of a batch's samples; 0: no bound. With a
   * bound, a batch takes as many samples as fit, at most `batch_size`. Not with
   * drop_last or FOREBAY_SUBSTITUTE. */
  uint64_t max_length;
  /* Whether samples of similar lengths come in the same batch; not with
   * FOREBAY_BLOCK_SHUFFLE, FOREBAY_LISTED or FOREBAY_COORDINATED. Default 0. */
  int by_length;
  /* Whether `max_length` and `max_seconds` count each sample as long as the
   * longest sample of its batch. Default 0. */
  int padded;
  /* The bound of max_length in seconds of audio, at most 65536; 0: no bound.
   * Not with `max_length`. With a bound, `batches_per_epoch` is 0. */
  double max_seconds;
} forebay_loader_options;

/* Fills in the defaults. `size` is sizeof(forebay_loader_options). It tells the
 * library which options the caller's header has. */
FOREBAY_EXPORT void forebay_loader_options_init(forebay_loader_options* options,
                                                size_t size);

/* ---- Loaders ---- */

typedef struct forebay_loader forebay_loader;

typedef struct forebay_loader_info {
  uint64_t dataset_size;      /* samples */
  uint64_t samples_per_epoch; /* of this rank; 0 if lists give the samples */
  uint64_t batches_per_epoch; /* of this rank; 0 with max_length */
  uint64_t class_count;
  uint64_t slot_bytes; /* memory of one batch, header and padding included */
  /* Changes with the dataset's content. */
  uint8_t dataset_version[16];
} forebay_loader_info;

/* Totals since a daemon opened the loader; each daemon that opens it again
 * begins them anew. */
typedef struct forebay_loader_stats {
  uint64_t samples_delivered;
  uint64_t batches_delivered;
  uint64_t bytes_delivered; /* bytes of the batches */
  uint64_t bytes_read;      /* encoded bytes, from storage or a cache */
  uint64_t samples_decoded;
  uint64_t samples_substituted;
  uint64_t cpu_nanos;      /* CPU time of decoding and transforming */
  uint64_t wait_nanos;     /* time that forebay_loader_next slept */
  uint64_t batches_copied; /* batches delivered as private copies */
  uint64_t batches_held;   /* leased now from this daemon, without copies */
} forebay_loader_stats;

/* Connects, opens the dataset's folders and asks the daemon for the loader, for
 * which forebay_loader_open then waits. `pipeline` may be NULL (decode only);
 * the library does not keep it. Blocks for the handshake only, at most 10 s.
 * End *out with forebay_loader_free. */
FOREBAY_EXPORT forebay_status
forebay_loader_create(const forebay_loader_options* options,
                      const forebay_pipeline* pipeline, forebay_loader** out);

/* Waits until the daemon has indexed the dataset and accepted the loader, at
 * most `timeout_seconds` (negative: without end). FOREBAY_INTERRUPTED and
 * FOREBAY_TIMEOUT: call again to go on waiting. Any other failure is final. */
FOREBAY_EXPORT forebay_status forebay_loader_open(forebay_loader* loader,
                                                  double timeout_seconds);

FOREBAY_EXPORT forebay_status
forebay_loader_get_info(const forebay_loader* loader, forebay_loader_info* out);

/* Finds the name of class `label`. *name is not NUL-terminated, has `*length`
 * bytes, and lives as long as the loader. */
FOREBAY_EXPORT forebay_status
forebay_loader_class_name(const forebay_loader* loader, uint64_t label,
                          const char** name, size_t* length);

FOREBAY_EXPORT forebay_status
forebay_loader_get_stats(forebay_loader* loader, forebay_loader_stats* out);
/* Writes all counters, also those that are newer than forebay_loader_stats, as
 * a serialized forebay.proto.LoaderCounters (proto/counters.proto). The caller
 * sets *size to the room at `bytes`; the call sets *size to the message's size.
 * 1024 bytes are enough. INVALID_ARGUMENT: the message does not fit. */
FOREBAY_EXPORT forebay_status
forebay_loader_stats_message(forebay_loader* loader, void* bytes, size_t* size);

/* Returns 1 while the daemon that opened the loader, or was asked to open it,
 * is connected; 0 if not. Any thread; never blocks. */
FOREBAY_EXPORT int forebay_loader_is_attached(forebay_loader* loader);

/* Returns why the batches lie on the host although the options ask for a GPU:
 * one clause. Returns "" if the batches lie where the options say. The text
 * lives as long as the loader. */
FOREBAY_EXPORT const char* forebay_loader_refusal(const forebay_loader* loader);

/* Stops making batches, and returns the loader's memory to the daemon. Batches
 * that the caller still holds stay valid. If another thread is in
 * forebay_loader_next, that call returns FOREBAY_FAILED_PRECONDITION. A second
 * close does nothing. */
FOREBAY_EXPORT void forebay_loader_close(forebay_loader* loader);

/* Closes the loader and frees the handle; no other call may be using it.
 * Batches stay valid. NULL does nothing. */
FOREBAY_EXPORT void forebay_loader_free(forebay_loader* loader);

/* ---- Batches ---- */

typedef struct forebay_batch forebay_batch;

typedef struct forebay_batch_info {
  uint64_t sample_count;
  uint64_t epoch;
  uint64_t first_sample; /* the first sample's position in this rank's epoch */
  uint32_t field_count;
  /* Whether the batch is a copy in private memory. The library copies a batch
   * if the caller already holds as many batches as the daemon leases at once.
   */
  int is_copy;
} forebay_batch_info;

/* Describes a batch; NULL has no samples and no fields. */
FOREBAY_EXPORT void forebay_batch_get_info(const forebay_batch* batch,
                                           forebay_batch_info* out);

/* Describes field `index`, 0 to field_count - 1. FOREBAY_INVALID_ARGUMENT:
 * `index` is larger. */
FOREBAY_EXPORT forebay_status forebay_batch_field(const forebay_batch* batch,
                                                  uint32_t index,
                                                  forebay_field* out);

typedef enum forebay_place FOREBAY_INT {
  FOREBAY_HOST = 0,
  /* The GPU of the loader's options; forebay_field's `data` is NULL then. */
  FOREBAY_DEVICE = 1
} forebay_place;

/* Returns where the data of field `index` lie; FOREBAY_HOST if there is no such
 * field. */
FOREBAY_EXPORT forebay_place forebay_batch_place(const forebay_batch* batch,
                                                 uint32_t index);

/* Writes the data of a field that lies on the GPU to `to`, in the type and
 * shape that forebay_batch_field reports. `to` is memory of that GPU, aligned
 * to 16 bytes, with room for the field's bytes.
 *
 * The work is queued on `stream`, a CUstream of the GPU's primary context
 * (NULL: the legacy default stream); the call does not wait for it. The caller
 * may release the batch at once: its lease ends when the stream has done the
 * work. The caller must not destroy the stream before that. The per-thread
 * default stream is refused, because each thread has another stream by that
 * name. The caller may hold at most two batches that it has not released.
 * FOREBAY_FAILED_PRECONDITION if the stream is captured into a CUDA graph. */
FOREBAY_EXPORT forebay_status forebay_batch_put(forebay_batch* batch,
                                                uint32_t index, void* to,
                                                void* stream);

/* Writes a part of a field's data to `to`: the `bytes` bytes from byte `offset`
 * on. `to` may have any alignment. The field must not be an image. Queues the
 * work as forebay_batch_put does. */
FOREBAY_EXPORT forebay_status forebay_batch_put_part(forebay_batch* batch,
                                                     uint32_t index,
                                                     uint64_t offset,
                                                     uint64_t bytes, void* to,
                                                     void* stream);

/* Adds an owner of the batch; each owner calls forebay_batch_release once. Any
 * thread. NULL does nothing. */
FOREBAY_EXPORT void forebay_batch_retain(forebay_batch* batch);

/* Gives up one owner's share of a batch. The last owner's call ends the lease.
 * After that, nobody may use the batch's memory. Any thread; never waits for
 * the daemon. NULL does nothing. */
FOREBAY_EXPORT void forebay_batch_release(forebay_batch* batch);

#define FOREBAY_MAX_FIELDS 16

/* A field's layout: the content of forebay_field, but with byte offsets into
 * the batch's data in place of pointers. */
typedef struct forebay_field_layout {
  char name[32]; /* NUL-terminated */
  forebay_field_kind kind;
  forebay_dtype dtype;
  uint32_t rank;
  forebay_place place; /* on a GPU, `offset` has no meaning */
  uint64_t shape[6];
  uint64_t offset;
  uint64_t bytes;
  uint64_t row_splits_offset; /* 0: every sample has the same shape */
} forebay_field_layout;

/* A batch and its layout, as forebay_loader_next_view writes them. */
typedef struct forebay_batch_view {
  forebay_batch* batch; /* end it with forebay_batch_release */
  void* data;
  uint64_t bytes; /* size of `data`; all fields on the host lie within */
  /* The layout's number. It grows whenever `fields` differ from those of the
   * previous batch. */
  uint64_t layout;
  /* The position, in this rank's epoch, of the sample after the batch's last.
   */
  uint64_t next_sample;
  forebay_batch_info info;
  /* The caller sets this to the number of the iteration whose batch it wants
   * (forebay_loader_iteration); 0: the present iteration. */
  uint64_t iteration;
  /* The fields' layouts, of which the first info.field_count are written. */
  forebay_field_layout fields[FOREBAY_MAX_FIELDS];
} forebay_batch_view;

/* ---- Epochs ---- */

/* Starts making the batches of `epoch`, without the first `first_sample`
 * samples of this rank. Both numbers are below 2^63. If another epoch is under
 * way, stops it first. */
FOREBAY_EXPORT forebay_status forebay_loader_start_epoch(forebay_loader* loader,
                                                         uint64_t epoch,
                                                         uint64_t first_sample);

/* Starts an epoch of a loader whose order is FOREBAY_LISTED: the epoch is these
 * `count` samples of the dataset, by number, in this order. A sample may occur
 * several times; each occurrence gets an augmentation of its own. The whole
 * list is this rank's: the options' rank and world_size have no effect. The
 * library copies the list. A list has at most 2^32 - 1 samples; each epoch's
 * list may have another length.
 *
 * If the order is FOREBAY_COORDINATED, the list names the samples of the epoch
 * that the caller has received already, each once, in any order; `first_sample`
 * is `count`. The epoch goes on with all other samples. */
FOREBAY_EXPORT forebay_status forebay_loader_start_listed_epoch(
    forebay_loader* loader, uint64_t epoch, const int64_t* samples,
    size_t count, uint64_t first_sample);

/* Returns the number of the iteration that was started last; 0 before the
 * first. Each start of an epoch gets a new number. Any thread. */
FOREBAY_EXPORT uint64_t forebay_loader_iteration(const forebay_loader* loader);

/* Waits for the next batch of the epoch under way, at most `timeout_seconds`
 * (negative: without end). End *out with forebay_batch_release.
 * FOREBAY_END_OF_EPOCH after the last batch. FOREBAY_DATA_ERROR (or another
 * status) if the epoch ended early; each later call returns the same status,
 * until another epoch is started. FOREBAY_UNAVAILABLE if the daemon is gone and
 * did not come back (see reattach_seconds); FOREBAY_SOURCE_UNAVAILABLE if the
 * daemon has not reached the dataset for reattach_seconds. Batches that are
 * ready come before either error. */
FOREBAY_EXPORT forebay_status forebay_loader_next(forebay_loader* loader,
                                                  double timeout_seconds,
                                                  forebay_batch** out);

/* Waits for the next batch as forebay_loader_next does, and describes its
 * content in the same call, for callers to which each microsecond counts.
 * Writes *out only with FOREBAY_OK. Before the first call, *out is all zeros
 * except `iteration`; later calls need *out as the previous call left it.
 * FOREBAY_FAILED_PRECONDITION if an iteration other than the wanted one is
 * under way; the call then takes no batch. */
FOREBAY_EXPORT forebay_status forebay_loader_next_view(forebay_loader* loader,
                                                       double timeout_seconds,
                                                       forebay_batch_view* out);

/* Abandons the rest of the epoch under way, if any. Batches stay valid. */
FOREBAY_EXPORT forebay_status forebay_loader_stop_epoch(forebay_loader* loader);

/* Continues with a loader whose calls have returned FOREBAY_UNAVAILABLE or
 * FOREBAY_SOURCE_UNAVAILABLE. Looks for a daemon where the loader was created,
 * and opens the loader there. Then continues the epoch under way, after the
 * last batch that forebay_loader_next returned. If no daemon is there, or the
 * daemon goes away at once, tries again with growing pauses, until
 * `timeout_seconds` have passed (negative: without end). Belongs to the thread
 * that calls forebay_loader_next.
 *
 * After each of four statuses, the caller may call again to go on.
 * FOREBAY_UNAVAILABLE: no daemon has come yet. FOREBAY_SOURCE_UNAVAILABLE: a
 * daemon cannot reach the dataset. FOREBAY_TIMEOUT: a daemon is there, and
 * still opens the dataset. FOREBAY_INTERRUPTED: a signal arrived. Any other
 * failure is final, such as FOREBAY_FAILED_PRECONDITION: the new daemon speaks
 * another protocol, or the dataset has changed. */
FOREBAY_EXPORT forebay_status forebay_loader_reattach(forebay_loader* loader,
                                                      double timeout_seconds);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_H_ */
