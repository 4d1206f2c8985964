#ifndef FOREBAY_SERVER_SAMPLER_LENGTH_WINDOW_H_
#define FOREBAY_SERVER_SAMPLER_LENGTH_WINDOW_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace forebay::sampler {

// The planned order of one window: a part of an epoch, sorted and cut into
// batches by length.
struct LengthWindow {
  // The number of the window in its epoch, from 0.
  std::uint64_t number = 0;
  // The samples of all ranks in planned order, step by step.
  std::vector<std::uint64_t> samples;
  // The index in `samples` of the sample at each place of the window before
  // planning.
  std::vector<std::uint32_t> indexes;
  // The step behind the last step of each batch, counted from the window's
  // beginning.
  std::vector<std::uint64_t> ends;
};
using LengthWindowPtr = std::shared_ptr<const LengthWindow>;

// A cache of an order's windows. The cache may drop any window at any time.
//
// Thread-safe. Shares the windows with their readers. Blocks only for its own
// lock. No errors.
class WindowStore {
 public:
  virtual ~WindowStore() = default;

  // Returns the window of that number, or null if it is not kept.
  virtual LengthWindowPtr Find(std::uint64_t number) const = 0;
  // Keeps a window, perhaps in place of another.
  virtual void Keep(LengthWindowPtr window) = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_LENGTH_WINDOW_H_
