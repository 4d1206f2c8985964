#include "tests/catch/runner.h"

int main(int argc, char** argv) { return forebay::tests::RunTests(argc, argv); }
