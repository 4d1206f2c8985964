#ifndef FOREBAY_CLIENT_WINDOW_H_
#define FOREBAY_CLIENT_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "client/fd.h"
#include "client/status.h"
#include "proto/shm_fetch.h"

namespace forebay::client {

// Memory in which the daemon shows fetched samples, mapped for reading. Not
// thread-safe. Owns the mapping. Never blocks. Errors: FOREBAY_INTERNAL, what
// lies there is nonsense.
class Window {
 public:
  Window() = default;
  ~Window() { Unmap(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Maps another one instead. FOREBAY_RESOURCE_EXHAUSTED: cannot be mapped.
  Status Map(const Fd& fd, std::uint64_t bytes);
  // Whether it shows so many samples with so many fields.
  Status Check(std::uint64_t samples, std::uint32_t fields) const;
  // A field that lies within the window; all 0: the sample is not there. Check
  // has found that there is such a sample and field.
  Status Find(std::uint64_t sample, std::uint32_t field, std::uint32_t fields,
              proto::FetchedField* out) const;
  std::uint8_t* data() const { return data_; }
  void Unmap();

 private:
  std::uint8_t* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_WINDOW_H_
