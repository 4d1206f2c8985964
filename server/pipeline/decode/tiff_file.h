#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TIFF_FILE_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TIFF_FILE_H_

#include <tiffio.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// A TIFF file in memory, opened by libtiff at its first directory. libtiff
// prints nothing. The number of bytes that libtiff reads is limited. libtiff's
// memory therefore stays in proportion to the file's size, even if directory
// entries overlap.
//
// Not thread-safe. Borrows the bytes from Open until Close or the next Open.
// Never blocks. Errors are as FailureStatus returns them.
class TiffFile {
 public:
  TiffFile() = default;
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  // Opens a file. `most_bytes` bounds each allocation that libtiff makes.
  // DATA_LOSS: the directory is damaged or truncated.
  absl::Status Open(absl::Span<const std::uint8_t> encoded,
                    std::uint64_t most_bytes);
  void Close() { tiff_ = nullptr; }

  // Returns libtiff's handle; null if no file is open.
  TIFF* get() const { return tiff_.get(); }

  // Returns how many offsets of strips or tiles the directory lists.
  std::uint64_t piece_count() const { return piece_count_; }

  // Whether any strip or tile that was read is a JPEG image with too few
  // pixels.
  bool lacks_pixels() const { return lacks_pixels_; }

  // Returns DATA_LOSS, with libtiff's last message.
  absl::Status FailureStatus() const;

 private:
  struct Closer {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };

  // Checks the directory's entries for faults that libtiff accepts, and counts
  // strips or tiles.
  absl::Status ReadEntries();

  // These functions are libtiff's callbacks.
  static tmsize_t OnRead(thandle_t handle, void* out, tmsize_t size);
  static tmsize_t OnWrite(thandle_t, void*, tmsize_t) { return -1; }
  static toff_t OnSeek(thandle_t handle, toff_t offset, int whence);
  static int OnClose(thandle_t) { return 0; }
  static toff_t OnSize(thandle_t handle);
  static int OnError(TIFF*, void* file, const char* module, const char* format,
                     va_list arguments);
  static int OnWarning(TIFF*, void* file, const char*, const char* format,
                       va_list);

  absl::Span<const std::uint8_t> encoded_;
  // Offset in the file, in bytes, at which libtiff reads next.
  std::uint64_t position_ = 0;
  // Bytes that libtiff may still read while it opens the file.
  std::uint64_t may_read_ = 0;
  std::uint64_t piece_count_ = 0;
  // Whether a read went past the file's end.
  bool cut_off_ = false;
  bool lacks_pixels_ = false;
  // The last error message of libtiff; empty if there was none.
  char message_[160] = {};
  std::unique_ptr<TIFF, Closer> tiff_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TIFF_FILE_H_
