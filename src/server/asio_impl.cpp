// The compiled halves of Asio and Beast, once (BOOST_ASIO_SEPARATE_COMPILATION), so that the other files only see declarations.
#include <utility>  // before Asio

#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
