#ifndef FOREBAY_SERVER_BASE_FD_H_
#define FOREBAY_SERVER_BASE_FD_H_

#include "proto/fd.h"

namespace forebay::base {

using proto::Fd;

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_FD_H_
