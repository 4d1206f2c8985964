#ifndef FOREBAY_CLIENT_SHM_WINDOW_H_
#define FOREBAY_CLIENT_SHM_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "client/base/status.h"
#include "proto/fd.h"
#include "proto/shm_fetch.h"

namespace forebay::client::shm {

// A reader's window (proto/shm_fetch.h): memory in which the daemon shows
// fetched samples, or a range of an object, mapped for reading. Not
// thread-safe. Owns the mapping. Never blocks. Errors: INTERNAL if the content
// is malformed.
class FetchWindow {
 public:
  FetchWindow() = default;
  ~FetchWindow() { Unmap(); }
  FetchWindow(const FetchWindow&) = delete;
  FetchWindow& operator=(const FetchWindow&) = delete;

  // Maps `bytes` bytes of `fd`, a new window, in place of the present window.
  // RESOURCE_EXHAUSTED if there is no memory to map it.
  Status Map(const proto::Fd& fd, std::uint64_t bytes);
  // Checks that the window shows `samples` samples with `fields` fields each.
  Status Check(std::uint64_t samples, std::uint32_t fields) const;
  // Describes field number `field` of sample number `sample`, whose bytes lie
  // within the window; all 0 if the sample is absent. Check must have accepted
  // `fields`, and more samples than `sample`.
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
