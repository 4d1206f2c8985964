// Compiled as a header, which all tests begin with: see BUILD.bazel.
#include "tests/catch/catch.h"

#include "tests/catch/matchers.h"
