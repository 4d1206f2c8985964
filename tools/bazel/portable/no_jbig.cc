// Stand-ins for the functions of JBIG-KIT that libtiff's archive calls.
// JBIG-KIT is under the GPL (version 2 or later), so its code cannot be part of
// these binaries. TiffDecoder refuses images that JBIG compresses before
// libtiff reads any row, so these functions are never called. If one is called,
// it fails.

#include <cstddef>
#include <cstdint>

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the names are JBIG-KIT's.

// JBG_EINVAL | 0: a malformed file.
constexpr int kMalformed = 0x30;

void jbg_dec_init(void* /*state*/) {}
void jbg_dec_free(void* /*state*/) {}
int jbg_dec_in(void* /*state*/, unsigned char* /*data*/, std::size_t /*length*/,
               std::size_t* /*taken*/) {
  return kMalformed;
}
unsigned char* jbg_dec_getimage(const void* /*state*/, int /*plane*/) {
  return nullptr;
}
std::size_t jbg_dec_getsize(const void* /*state*/) { return 0; }
int jbg_newlen(unsigned char* /*data*/, std::size_t /*length*/) {
  return kMalformed;
}
void jbg_enc_init(void* /*state*/, std::uint64_t /*width*/,
                  std::uint64_t /*height*/, int /*planes*/,
                  unsigned char** /*image*/, void* /*write*/, void* /*file*/) {}
void jbg_enc_out(void* /*state*/) {}
void jbg_enc_free(void* /*state*/) {}
const char* jbg_strerror(int /*number*/) { return "JBIG is not part of this"; }

// NOLINTEND(readability-identifier-naming)

}  // extern "C"
