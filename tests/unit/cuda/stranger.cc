// A library that is no plug-in.
extern "C" int forebay_stranger() { return 0; }
