internal import FoundationEssentials
internal import Glibc
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Storage

extension Daemon {
  /// Registers what the server and the store count by themselves.
  func measure() {
    let metrics = workplace.metrics
    metrics.gauge("awd_http_connections", "Open connections, WebSockets among them.") { [server] in
      Double(server.statistics.connections)
    }
    metrics.gauge("awd_websocket_sessions", "Open WebSocket sessions.") { [server] in
      Double(server.statistics.webSockets)
    }
    metrics.counter("awd_http_accepted_total", "Connections accepted.") { [server] in
      Double(server.statistics.accepted)
    }
    metrics.counter("awd_http_accept_pauses_total", "Times accepting was paused.") { [server] in
      Double(server.statistics.acceptPauses)
    }
    metrics.counter("awd_http_refused_total", "Requests refused before any route.") { [server] in
      Double(server.statistics.refusedRequests)
    }
    metrics.counter("awd_http_cut_total", "Connections cut for slowness.") { [server] in
      Double(server.statistics.cutConnections)
    }
    metrics.counter("awd_http_received_bytes_total", "Bytes taken from sockets.") { [server] in
      Double(server.statistics.bytesReceived)
    }
    metrics.counter("awd_http_sent_bytes_total", "Bytes given to sockets.") { [server] in
      Double(server.statistics.bytesSent)
    }
    if server.credentials != nil { measureTLS() }
    let store = workplace.store
    metrics.gauge("awd_store_queued_writes", "Writes that wait for their group.") {
      Double(store.statistics.queuedWrites)
    }
    metrics.counter("awd_store_writes_total", "Writes made durable.") {
      Double(store.statistics.writesCommitted)
    }
    metrics.counter("awd_store_groups_total", "Groups of writes committed.") {
      Double(store.statistics.groupsCommitted)
    }
    metrics.counter("awd_store_failures_total", "Writes that failed or were refused.") {
      Double(store.statistics.writesFailed + store.statistics.writesRefused)
    }
    metrics.gauge("awd_store_queued_reads", "Reads that wait for a connection.") {
      Double(store.statistics.queuedReads)
    }
    metrics.gauge("awd_store_log_bytes", "Length of the write-ahead log.") {
      Double(store.statistics.walPages * 4096)
    }
    metrics.histogram("awd_store_commit_seconds", "Time that a commit took, the disk's included.") {
      Distribution(store.statistics.commitSeconds)
    }
    metrics.histogram("awd_store_group_writes", "Writes of a commit.") {
      Distribution(store.statistics.groupSize)
    }
    metrics.gauge("awd_process_resident_bytes", "Memory in use.") { Process.residentBytes }
    metrics.gauge("awd_process_open_descriptors", "Open files and sockets.") {
      Process.openDescriptors
    }
    metrics.gauge("awd_process_descriptor_limit", "Files and sockets that may be open.") {
      Process.descriptorLimit
    }
  }

  private func measureTLS() {
    let metrics = workplace.metrics
    metrics.gauge(
      "awd_tls_certificate_expiry_timestamp_seconds",
      "Until when the TLS certificate in use is valid, in seconds since 1970."
    ) { [server] in Double(server.credentials?.notAfter ?? 0) }
    metrics.counter("awd_tls_handshakes_total", "TLS handshakes completed.") { [server] in
      Double(server.statistics.tlsHandshakes)
    }
    metrics.counter("awd_tls_failures_total", "TLS handshakes and connections that failed.") {
      [server] in Double(server.statistics.tlsFailures)
    }
    metrics.counter("awd_http2_calmed_total", "HTTP/2 connections ended for a flood.") {
      [server] in Double(server.statistics.calmedConnections)
    }
  }
}

extension Distribution {
  /// What the store counted.
  fileprivate init(_ histogram: Storage.Histogram) {
    self.init(
      bounds: histogram.bounds, counts: histogram.counts.map { UInt64(clamping: $0) },
      sum: histogram.sum)
  }
}

/// What the system tells of this process.
private enum Process {
  /// The second number of `/proc/self/statm`, in pages (proc(5)); NaN where it can't be read.
  static var residentBytes: Double {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
    else { return .nan }
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// Without the one that counts them.
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
