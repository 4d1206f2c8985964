#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_HANDLE_TABLE_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_HANDLE_TABLE_H_

#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace forebay::fake_libcuda {

// Returns a new number at each call, which is not an address of a CPU.
inline std::uint64_t NextHandle() {
  static std::atomic<std::uint64_t> last{0x7AB0'0000'0000'0000};
  return last += 16;
}

// Objects that the program knows by handles. A handle is a number that is not
// an address. Each object of any kind has another one. Thread-safe; never
// blocks.
template <typename Handle, typename Object>
class HandleTable {
 public:
  Handle Add(std::shared_ptr<Object> object) {
    // A handle may be a pointer or an integer.
    const auto handle = std::bit_cast<Handle>(NextHandle());
    const std::lock_guard lock(mutex_);
    objects_[handle] = std::move(object);
    return handle;
  }

  // Adds an object whose handle the caller chooses, such as an address.
  void Put(Handle handle, std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    objects_[handle] = std::move(object);
  }

  // Returns an object; null if there is no such object, or if it was removed.
  std::shared_ptr<Object> Find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Object> Remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.extract(handle);
    return found.empty() ? nullptr : std::move(found.mapped());
  }

  std::vector<std::shared_ptr<Object>> All() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> all;
    for (const auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_HANDLE_TABLE_H_
