#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_FAULTS_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_FAULTS_H_

#include <string>

#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {

// A server's answer before a fault is applied.
struct Reply {
  int status = 200;
  std::string headers;  // lines that end with "\r\n"
  std::string body;
};

// The faults of answers. kStall leaves the answer unfinished until the client
// hangs up. kBitFlip changes one bit of the body. kCompressed sends the same
// range of a compressed form of the object, with that form's tag and size.
enum class Fault {
  kNone,
  k503,
  k429,
  k408,
  kResetAtOnce,
  kResetInBody,
  kTruncate,
  kBitFlip,
  kWrongRange,
  kNoRange,
  kStall,
  kCompressed,
};

inline constexpr Fault kPassingFaults[] = {
    Fault::k503,         Fault::k429,         Fault::k408,
    Fault::kResetAtOnce, Fault::kResetInBody, Fault::kTruncate,
    Fault::kWrongRange,  Fault::kNoRange};

// Sends `reply` with the fault `fault`.
void SendWith(Fault fault, const Reply& reply, HttpServer::Peer& peer);

}  // namespace forebay::storage::http

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_FAULTS_H_
