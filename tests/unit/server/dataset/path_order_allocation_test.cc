#include <cstdlib>
#include <new>
#include <string>

#include "server/dataset/path_order.h"
#include "tests/catch/catch.h"

namespace {

int allocations = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Catch2 allocates by this operator, and frees by the operators below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace forebay::dataset {
namespace {

TEST_CASE("Comparing names in path order allocates no memory",
          "[dataset][path_order_allocation]") {
  // The names are too long for a string's own buffer.
  const std::string folder(100, 'x');
  const std::string a = folder + "\303\251\303\251.jpg";
  const std::string b = folder + "\303\251\303\250.jpg";
  const int before = allocations;
  const bool ordered = PathLess(b, a) && !PathLess(a, b);
  const int after = allocations;
  CHECK(ordered);
  CHECK(after == before);
}

}  // namespace
}  // namespace forebay::dataset
