// What SQLite throws, as a sentence for the person.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <string>

#include "base/error.h"

namespace continuo::library {

/// `name` stands for the database in the message.
Error explain(const SQLite::Exception& thrown, const std::string& name);

}  // namespace continuo::library
