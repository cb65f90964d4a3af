#pragma once
#include <uv.h>

/* uv_buf_t and the handle types are cast freely in C; Swift needs the upcasts spelt out. */
static inline uv_stream_t *cuv_tcp_stream(uv_tcp_t *h) { return (uv_stream_t *)h; }
static inline uv_stream_t *cuv_pipe_stream(uv_pipe_t *h) { return (uv_stream_t *)h; }
static inline uv_handle_t *cuv_stream_handle(uv_stream_t *h) { return (uv_handle_t *)h; }
