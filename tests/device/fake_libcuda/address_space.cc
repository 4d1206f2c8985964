#include "tests/device/fake_libcuda/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace forebay::fake_libcuda {
namespace {

// Returns the element of a map, keyed by address, that may contain `address`.
template <typename Map>
auto Before(Map& map, typename Map::key_type address) {
  const auto after = map.upper_bound(address);
  return after == map.begin() ? map.end() : std::prev(after);
}

bool Contains(std::uintptr_t outer, std::size_t outer_bytes,
              std::uintptr_t inner, std::size_t inner_bytes) {
  return inner >= outer && inner_bytes <= outer_bytes &&
         inner - outer <= outer_bytes - inner_bytes;
}

}  // namespace

std::shared_ptr<Window> Window::Open(std::shared_ptr<GpuMemory> memory) {
  void* const data = mmap(nullptr, memory->label().bytes,
                          PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd(), 0);
  if (data == MAP_FAILED) return nullptr;
  return std::shared_ptr<Window>(
      new Window(std::move(memory), static_cast<char*>(data)));
}

Window::Window(std::shared_ptr<GpuMemory> memory, char* data)
    : memory_(std::move(memory)), data_(data) {}

Window::~Window() { munmap(data_, memory_->label().bytes); }

CUresult AddressSpace::Reserve(std::size_t bytes, std::size_t alignment,
                               CUdeviceptr* out) {
  if (bytes == 0 || bytes % granularity_ != 0) return CUDA_ERROR_INVALID_VALUE;
  alignment = std::max(alignment, granularity_);
  Reservation made{.bytes = bytes, .base_bytes = bytes + alignment};
  made.base = mmap(nullptr, made.base_bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made.base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto base = reinterpret_cast<CUdeviceptr>(made.base);
  *out = (base + alignment - 1) / alignment * alignment;
  const std::lock_guard lock(mutex_);
  reservations_[*out] = made;
  return CUDA_SUCCESS;
}

CUresult AddressSpace::Free(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second.bytes != bytes ||
      IsMappedLocked(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  munmap(found->second.base, found->second.base_bytes);
  reservations_.erase(found);
  return CUDA_SUCCESS;
}

bool AddressSpace::IsReservedLocked(CUdeviceptr address,
                                    std::size_t bytes) const {
  const auto found = Before(reservations_, address);
  return found != reservations_.end() &&
         Contains(found->first, found->second.bytes, address, bytes);
}

bool AddressSpace::IsMappedLocked(CUdeviceptr address,
                                  std::size_t bytes) const {
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && next->first - address < bytes) return true;
  const auto before = Before(mappings_, address);
  return before != mappings_.end() &&
         address - before->first < before->second.bytes;
}

CUresult AddressSpace::Map(CUdeviceptr address, std::size_t bytes,
                           std::shared_ptr<GpuMemory> memory) {
  if (bytes != memory->label().bytes) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Window> window = Window::Open(std::move(memory));
  if (window == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex_);
  if (!IsReservedLocked(address, bytes) || IsMappedLocked(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  mappings_[address] = {
      .bytes = bytes, .window = std::move(window), .access = {}};
  return CUDA_SUCCESS;
}

CUresult AddressSpace::Unmap(CUdeviceptr address, std::size_t bytes) {
  // Destroyed after the lock is released.
  std::vector<std::shared_ptr<Window>> unmapped;
  const std::lock_guard lock(mutex_);
  const auto first = mappings_.find(address);
  auto last = first;
  std::size_t covered = 0;
  while (last != mappings_.end() && last->first == address + covered &&
         covered < bytes) {
    covered += last->second.bytes;
    ++last;
  }
  if (first == mappings_.end() || covered != bytes)
    return CUDA_ERROR_INVALID_VALUE;
  for (auto it = first; it != last; ++it)
    unmapped.push_back(std::move(it->second.window));
  mappings_.erase(first, last);
  return CUDA_SUCCESS;
}

CUresult AddressSpace::SetAccess(CUdeviceptr address, std::size_t bytes,
                                 const std::string& uuid,
                                 CUmemAccess_flags access) {
  const std::lock_guard lock(mutex_);
  const auto found = mappings_.find(address);
  if (found == mappings_.end() || found->second.bytes != bytes)
    return CUDA_ERROR_INVALID_VALUE;
  found->second.access[uuid] = access;
  return CUDA_SUCCESS;
}

Found AddressSpace::Find(CUdeviceptr address, std::size_t bytes,
                         const std::string& uuid, bool writes) const {
  const std::lock_guard lock(mutex_);
  const auto found = Before(mappings_, address);
  if (found == mappings_.end() ||
      !Contains(found->first, found->second.bytes, address, bytes)) {
    return {};
  }
  const auto access = found->second.access.find(uuid);
  const bool allowed =
      access != found->second.access.end() &&
      (access->second == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
       (!writes && access->second == CU_MEM_ACCESS_FLAGS_PROT_READ));
  if (!allowed) return {};
  return {.window = found->second.window,
          .data = found->second.window->data() + (address - found->first)};
}

std::string AddressSpace::GpuAt(CUdeviceptr address) const {
  const std::lock_guard lock(mutex_);
  const auto found = Before(mappings_, address);
  const bool is_mapped =
      found != mappings_.end() && address - found->first < found->second.bytes;
  return is_mapped ? found->second.window->memory().label().uuid : "";
}

CUresult AddressSpace::RegisterHost(void* address, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  const auto next = registered_.lower_bound(first);
  const auto before = Before(registered_, first);
  if ((next != registered_.end() && next->first - first < bytes) ||
      (before != registered_.end() && first - before->first < before->second)) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  registered_[first] = bytes;
  return CUDA_SUCCESS;
}

CUresult AddressSpace::UnregisterHost(void* address) {
  const std::lock_guard lock(mutex_);
  return registered_.erase(reinterpret_cast<std::uintptr_t>(address)) == 1
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

bool AddressSpace::IsRegistered(const void* address, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  const auto found = Before(registered_, first);
  return found != registered_.end() &&
         Contains(found->first, found->second, first, bytes);
}

void AddressSpace::UnregisterAll() {
  const std::lock_guard lock(mutex_);
  registered_.clear();
}

}  // namespace forebay::fake_libcuda
