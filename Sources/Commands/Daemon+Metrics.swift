internal import Cryptography
internal import FoundationEssentials
internal import Glibc
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Time
internal import Storage

extension Daemon {
  /// Registers the metrics of the server, the store and the process.
  func registerMetrics() {
    registerServerMetrics()
    if server.credentials != nil { registerTLSMetrics() }
    registerStoreMetrics()
    let metrics = runtime.metrics
    metrics.gauge("awd_process_resident_bytes", "Resident memory") { Process.residentBytes }
    metrics.gauge("awd_process_open_descriptors", "Open files and sockets") {
      Process.openDescriptors
    }
    metrics.gauge("awd_process_descriptor_limit", "Limit of open files and sockets") {
      Process.descriptorLimit
    }
  }

  private func registerServerMetrics() {
    let metrics = runtime.metrics
    metrics.gauge("awd_http_connections", "Open connections, including WebSockets") { [server] in
      Double(server.statistics.connections)
    }
    metrics.gauge("awd_websocket_sessions", "Open WebSocket sessions") { [server] in
      Double(server.statistics.webSockets)
    }
    metrics.counter("awd_http_accepted_total", "Accepted connections") { [server] in
      Double(server.statistics.accepted)
    }
    metrics.counter("awd_http_accept_pauses_total", "Pauses in accepting connections") {
      [server] in Double(server.statistics.acceptPauses)
    }
    metrics.counter("awd_http_refused_total", "Requests refused before routing") { [server] in
      Double(server.statistics.refusedRequests)
    }
    metrics.counter("awd_http_cut_total", "Connections closed for slowness") { [server] in
      Double(server.statistics.cutConnections)
    }
    metrics.counter("awd_http_received_bytes_total", "Received data") { [server] in
      Double(server.statistics.bytesReceived)
    }
    metrics.counter("awd_http_sent_bytes_total", "Sent data") { [server] in
      Double(server.statistics.bytesSent)
    }
  }

  private func registerTLSMetrics() {
    let metrics = runtime.metrics
    metrics.gauge(
      "awd_tls_certificate_expiry_timestamp_seconds", "Expiry date of the TLS certificate"
    ) { [server] in Double(server.credentials?.notAfter.seconds ?? 0) }
    metrics.counter("awd_tls_handshakes_total", "Completed TLS handshakes") { [server] in
      Double(server.statistics.tlsHandshakes)
    }
    metrics.counter("awd_tls_failures_total", "Failed TLS handshakes and connections") {
      [server] in Double(server.statistics.tlsFailures)
    }
    metrics.counter("awd_http2_enhance_your_calm_total", "HTTP/2 connections closed for flooding") {
      [server] in Double(server.statistics.enhanceYourCalm)
    }
  }

  private func registerStoreMetrics() {
    let (metrics, store) = (runtime.metrics, runtime.store)
    metrics.gauge("awd_store_queued_writes", "Queued writes") {
      Double(store.statistics.queuedWrites)
    }
    metrics.counter("awd_store_writes_total", "Committed writes") {
      Double(store.statistics.writesCommitted)
    }
    metrics.counter("awd_store_groups_total", "Commits") {
      Double(store.statistics.groupsCommitted)
    }
    metrics.counter("awd_store_failures_total", "Failed and refused writes") {
      Double(store.statistics.writesFailed + store.statistics.writesRefused)
    }
    metrics.gauge("awd_store_queued_reads", "Queued reads") {
      Double(store.statistics.queuedReads)
    }
    metrics.gauge("awd_store_log_bytes", "Size of the write-ahead log") {
      Double(store.statistics.walPages * 4096)
    }
    metrics.histogram("awd_store_commit_seconds", "Duration of a commit, including the disk") {
      store.statistics.commitSeconds
    }
    metrics.histogram("awd_store_group_writes", "Writes per commit") {
      store.statistics.groupSize
    }
  }
}

/// The process, as the system sees it.
private enum Process {
  /// The second number of `/proc/self/statm`, in pages (proc(5)), as bytes. NaN if it can't be read.
  static var residentBytes: Double {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
    else { return .nan }
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// The number of open descriptors, without the one that counts them.
  static var openDescriptors: Double {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    return names.map { Double($0.count - 1) } ?? .nan
  }

  static var descriptorLimit: Double {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return .nan
    }
    return Double(limit.rlim_cur)
  }
}
