// Expected failures are values. An Error carries one sentence for the person: what was wrong and what to do about it.
// Exceptions are left to the libraries we call (they are caught at our boundary), asserts to programmer errors.
#pragma once

#include <fmt/format.h>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace continuo {

enum class ErrorCode {
  invalid_argument,  // the request cannot be right: a number out of range, a malformed option
  not_found,         // a file or model that is not there
  unsupported,       // understood, but not something this build or this model can do
  corrupt_file,      // a file that contradicts itself or its format
  io,                // the system refused: permissions, a full disk
  cancelled,         // the caller asked to stop
  out_of_memory,     // more than the budget, or the machine, has
};

struct Error {
  ErrorCode code;
  std::string message;  // one sentence, no trailing newline
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// Builds the failure side of any Result: `return fail(ErrorCode::io, "cannot write {}: {}", path, why);`
template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Hands an error up unchanged.
inline tl::unexpected<Error> forward_error(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace continuo

/// Returns from the enclosing function when a Status or Result holds an error.
#define CONTINUO_CHECK(expression)                                  \
  do {                                                              \
    if (auto status_ = (expression); !status_) {                    \
      return ::continuo::forward_error(std::move(status_).error()); \
    }                                                               \
  } while (false)

#define CONTINUO_CONCAT_INNER(a, b) a##b
#define CONTINUO_CONCAT(a, b) CONTINUO_CONCAT_INNER(a, b)
#define CONTINUO_TRY_IMPL(temporary, declaration, expression)                     \
  auto temporary = (expression);                                                  \
  if (!temporary) return ::continuo::forward_error(std::move(temporary).error()); \
  declaration = std::move(*temporary)

/// `CONTINUO_TRY(auto model, open_model(path));` declares `model`, or returns the error.
#define CONTINUO_TRY(declaration, expression) CONTINUO_TRY_IMPL(CONTINUO_CONCAT(result_, __LINE__), declaration, expression)
