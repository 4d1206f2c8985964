// Compiled as a header, which all tests begin with: see BUILD.bazel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
