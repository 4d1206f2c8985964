// The function arc4random. Debian's static libstdc++ calls it for
// std::random_device, but glibc has it only since 2.36. Without this copy,
// programs would not load where glibc is older. The copy is hidden, so other
// libraries do not see it.

#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) unsigned ForebayRandom() asm(
    "arc4random");

extern "C" unsigned ForebayRandom() {
  unsigned value = 0;
  if (getentropy(&value, sizeof value) != 0) __builtin_trap();
  return value;
}
