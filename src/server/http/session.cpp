#include "server/http/session.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace continuo::server {

namespace asio = boost::asio;

namespace {

// Larger requests than this before the body are refused by the parser anyway; it also bounds what is read ahead of a body.
constexpr std::size_t buffer_bytes = std::size_t{64} << 10;

}  // namespace

Deadline::Deadline(Session& session, double seconds) : timer_(session.socket.get_executor()) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds)));
  // A weak hold, since the wait may be answered after the session; the flag tells a deadline that was met from one that is over.
  timer_.async_wait([over = over_, weak = session.weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || over.use_count() == 1) return;
    *over = true;
    boost::system::error_code ignored;
    self->socket.cancel(ignored);
  });
}

Deadline::~Deadline() { timer_.cancel(); }

Session::Session(asio::ip::tcp::socket connected, std::shared_ptr<ConnectionContext> shared)
    : socket(std::move(connected)), buffer(buffer_bytes), context(std::move(shared)) {
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  // A peer whose machine vanished says nothing; the system asks it now and then.
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  context->sessions.insert(this);
  context->gate->connected(+1);
}

Session::~Session() {
  context->sessions.erase(this);
  context->gate->connected(-1);
}

Task<bool> Session::write_all(std::string_view bytes) {
  while (!bytes.empty() && !gone) {
    boost::system::error_code error;
    const Deadline deadline(*this, context->limits.write_seconds);
    const std::size_t written = co_await socket.async_write_some(asio::buffer(bytes.data(), bytes.size()),
                                                                 asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      gone = true;
      hung_up.set_all();
    }
    bytes.remove_prefix(written);
  }
  co_return !gone;
}

void Session::watch() {
  if (watching || gone || upgraded) return;
  watching = true;
  socket.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    self->watching = false;
    if (error || self->upgraded || self->gone) return;
    char byte = 0;
    const ssize_t got = ::recv(self->socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return;  // the next request is there already; that the client hangs up behind it shows when we write
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      self->watch();
      return;
    }
    self->gone = true;
    self->hung_up.set_all();
  });
}

void Session::close(bool hard) {
  boost::system::error_code ignored;
  if (upgraded) return;
  if (hard) {
    socket.set_option(asio::socket_base::linger(true, 0), ignored);
  } else {
    socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  }
  socket.close(ignored);
}

Task<void> Session::linger() {
  constexpr std::size_t most = std::size_t{16} << 20;
  boost::system::error_code error;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  std::array<char, 16384> sink;  // NOLINT: only a place to read to
  const Deadline deadline(*this, 2.0);
  for (std::size_t read = 0; !error && read < most;) {
    read += co_await socket.async_read_some(asio::buffer(sink), asio::redirect_error(asio::use_awaitable, error));
  }
}

void ConnectionContext::close_idle() {
  for (Session* session : sessions) {
    if (session->idle) session->close(false);
  }
}

void ConnectionContext::close_all() {
  for (Session* session : sessions) {
    if (session->cut_upgraded) session->cut_upgraded();
    session->gone = true;
    session->close(false);
    session->hung_up.set_all();
  }
}

}  // namespace continuo::server
