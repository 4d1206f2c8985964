// A function of glibc 2.36 that Debian's static libstdc++ calls, for
// std::random_device, and that would keep what is linked with it from loading
// where glibc is older. Hidden, it serves nobody else.

#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) unsigned ForebayRandom() asm(
    "arc4random");

extern "C" unsigned ForebayRandom() {
  unsigned value = 0;
  if (getentropy(&value, sizeof value) != 0) __builtin_trap();
  return value;
}
