// The compiler takes this file as a header, with which all tests begin: see
// BUILD.bazel.
#include "tests/catch/catch.h"

#include "tests/catch/matchers.h"
