#ifndef FOREBAY_SERVER_SAMPLER_LENGTH_WINDOW_H_
#define FOREBAY_SERVER_SAMPLER_LENGTH_WINDOW_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace forebay::sampler {

// The plan of a part of an epoch that is ordered by length.
struct LengthWindow {
  std::uint64_t number = 0;
  std::vector<std::uint64_t> samples;  // of all ranks, step by step
  std::vector<std::uint32_t> indexes;  // of samples, by their places
  std::vector<std::uint64_t> ends;     // the step behind each batch
};
using LengthWindowPtr = std::shared_ptr<const LengthWindow>;

// Keeps some of an order's windows. Thread-safe; shares them; never blocks but
// for its own lock; no errors.
class WindowStore {
 public:
  virtual ~WindowStore() = default;

  // Null if it is not kept.
  virtual LengthWindowPtr Find(std::uint64_t number) const = 0;
  // Keeps a window, perhaps in the place of another.
  virtual void Keep(LengthWindowPtr window) = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_LENGTH_WINDOW_H_
