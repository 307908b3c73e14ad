#include "cli/app.h"

namespace continuo::cli {

// The build passes the project's version; only this file is rebuilt when it changes.
std::string version() { return CONTINUO_VERSION; }

}  // namespace continuo::cli
