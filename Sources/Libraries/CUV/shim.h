#pragma once
#include <uv.h>

/* uv_buf_t and the handle types are cast freely in C; Swift needs the upcasts spelt out. */
static inline uv_stream_t *cuv_tcp_stream(uv_tcp_t *h) { return (uv_stream_t *)h; }
static inline uv_stream_t *cuv_pipe_stream(uv_pipe_t *h) { return (uv_stream_t *)h; }
static inline uv_handle_t *cuv_stream_handle(uv_stream_t *h) { return (uv_handle_t *)h; }

/* Glibc hides accept4 from Swift: it needs _GNU_SOURCE. */
#include <sys/socket.h>
extern int accept4(int, struct sockaddr *, socklen_t *, int);
#include <sys/ioctl.h>
#include <linux/sockios.h>
/* ioctl is variadic: how many bytes the peer has not acknowledged. */
static inline int cuv_unacknowledged(int fd) {
  int count = 0;
  return ioctl(fd, SIOCOUTQ, &count) == 0 ? count : 0;
}
static inline int cuv_accept(int fd, struct sockaddr *a, socklen_t *n) {
  return accept4(fd, a, n, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
