#ifndef FOREBAY_CLIENT_SHM_WINDOW_H_
#define FOREBAY_CLIENT_SHM_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "client/base/status.h"
#include "proto/fd.h"
#include "proto/shm_fetch.h"

namespace forebay::client::shm {

// A reader's window: memory in which the daemon shows fetched samples, or a
// range of an object, mapped for reading. Not thread-safe. Owns the mapping.
// Never blocks. Errors: INTERNAL if the content is malformed.
class Window {
 public:
  Window() = default;
  ~Window() { Unmap(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Maps another window instead. RESOURCE_EXHAUSTED if it cannot be mapped.
  Status Map(const proto::Fd& fd, std::uint64_t bytes);
  // Checks that it shows so many samples with so many fields.
  Status Check(std::uint64_t samples, std::uint32_t fields) const;
  // Finds a field, which lies within the window; all 0 if the sample is absent.
  // Check must have found so many samples and fields.
  Status Find(std::uint64_t sample, std::uint32_t field, std::uint32_t fields,
              proto::FetchedField* out) const;
  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  void Unmap();

 private:
  std::uint8_t* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_WINDOW_H_
