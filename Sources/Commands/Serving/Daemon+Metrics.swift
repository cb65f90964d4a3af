internal import Cluster
internal import Configuration
internal import Cryptography
internal import FoundationEssentials
internal import Glibc
internal import HTTPServer
internal import Observability
internal import Push
internal import ServiceKit
internal import Storage
internal import Platform

extension Daemon {
  private typealias Series<Statistics> = [(
    name: StaticString, help: String, number: any KeyPath<Statistics, Int> & Sendable
  )]

  /// Registers the metrics of the server, the store and the process.
  func registerMetrics() {
    let metrics = runtime.metrics
    let store = runtime.store
    gauges(Self.serverGauges) { [server] in server.statistics }
    counters(Self.serverCounters) { [server] in server.statistics }
    metrics.budget(named: "connections") { [server] in server.connectionBudget }
    metrics.budget(named: "memory") { [server] in server.memoryBudget }
    if let places = runtime.pushes.webPlaces { metrics.budget(named: "pushes", places) }
    metrics.gauge(
      "awd_loop_turn_seconds_max", "Longest turn of an event loop in the last minute or two"
    ) { [server] in Double(server.statistics.longestTurn) / 1000 }
    if server.credentials != nil {
      counters(Self.tlsCounters) { [server] in server.statistics }
      metrics.gauge(
        "awd_tls_certificate_expiry_timestamp_seconds", "Expiry date of the TLS certificate"
      ) { [server] in Double(server.credentials?.notAfter.seconds ?? 0) }
    }
    if store.isShared { counters(Self.busCounters) { [bus = runtime.bus] in bus.statistics } }
    gauges(Self.storeGauges) { store.statistics }
    counters(Self.storeCounters) { store.statistics }
    for (queue, waiting) in Self.storeQueues {
      metrics.gauge(
        "awd_store_waiting_seconds", "Time for which the queue has waited for the disk or database",
        ["queue": queue]
      ) { store.statistics[keyPath: waiting] / .seconds(1) }
    }
    metrics.histogram("awd_store_commit_seconds", "Duration of a commit, including the disk") {
      store.statistics.commitSeconds
    }
    metrics.histogram(
      "awd_store_transaction_seconds", "Duration of a transaction, for which other writes wait"
    ) { store.statistics.transactionSeconds }
    metrics.gauge(
      "awd_store_longest_transaction_seconds", "Duration of the longest transaction so far"
    ) { store.statistics.longestTransactionSeconds }
    metrics.histogram("awd_store_group_writes", "Writes per commit") { store.statistics.groupSize }
    if runtime.disk.freeBytes != nil {
      metrics.gauge("awd_disk_free_bytes", "Free disk of the store") { [disk = runtime.disk] in
        Double(disk.freeBytes ?? 0)
      }
      metrics.gauge(
        "awd_disk_reserve_bytes", "Free disk below which nothing is stored for strangers"
      ) { [disk = runtime.disk] in Double(disk.mark) }
    }
    metrics.gauge(
      "awd_backup_last_timestamp_seconds", "Time of the last backup made with this data folder"
    ) { [data = runtime.configuration.server.data] in Double(BackupFiles.lastTime(in: data) ?? 0) }
    metrics.gauge("awd_process_resident_bytes", "Resident memory") { Process.residentBytes }
    metrics.gauge("awd_process_open_descriptors", "Open files and sockets") {
      Process.openDescriptors
    }
    metrics.gauge("awd_process_descriptor_limit", "Limit of open files and sockets") {
      Process.descriptorLimit
    }
  }

  private static let serverGauges: Series<ServerStatistics> = [
    ("awd_http_connections", "Open connections, including WebSockets", \.connections),
    ("awd_websocket_sessions", "Open WebSocket sessions", \.webSockets),
  ]

  private static let serverCounters: Series<ServerStatistics> = [
    ("awd_http_accepted_total", "Accepted connections", \.accepted),
    ("awd_http_accept_pauses_total", "Pauses in accepting connections", \.acceptPauses),
    ("awd_http_refused_total", "Requests refused before routing", \.refusedRequests),
    (
      "awd_http_limited_total", "Requests refused with 429 before their handlers", \.limitedRequests
    ),
    ("awd_http_cut_total", "Connections closed for slowness", \.cutConnections),
    ("awd_http_received_bytes_total", "Received data", \.bytesReceived),
    ("awd_http_sent_bytes_total", "Sent data", \.bytesSent),
  ]

  private static let tlsCounters: Series<ServerStatistics> = [
    ("awd_tls_handshakes_total", "Completed TLS handshakes", \.tlsHandshakes),
    ("awd_tls_failures_total", "Failed TLS handshakes and connections", \.tlsFailures),
    (
      "awd_http2_enhance_your_calm_total", "HTTP/2 connections closed for flooding",
      \.enhanceYourCalm
    ),
  ]

  private static let storeGauges: Series<StoreStatistics> = [
    ("awd_store_queued_writes", "Queued writes", \.queuedWrites),
    ("awd_store_queued_reads", "Queued reads", \.queuedReads),
    ("awd_store_log_bytes", "Size of the write-ahead log", \.walBytes),
  ]

  private static let storeQueues:
    [(queue: String, waiting: any KeyPath<StoreStatistics, Duration> & Sendable)] = [
      ("writes", \.writesWaiting), ("reads", \.readsWaiting),
    ]

  private static let storeCounters: Series<StoreStatistics> = [
    ("awd_store_writes_total", "Committed writes", \.writesCommitted),
    ("awd_store_groups_total", "Commits", \.groupsCommitted),
    ("awd_store_failures_total", "Failed and refused writes", \.writesWithoutCommit),
    (
      "awd_store_retries_total",
      "Transactions that ran again, for others' sake or after a lost connection", \.retries
    ),
  ]

  private static let busCounters: Series<BusStatistics> = [
    ("awd_bus_told_total", "Notifications sent to other nodes", \.sent),
    ("awd_bus_heard_total", "Notifications received from other nodes", \.received),
    ("awd_bus_dropped_total", "Notices that were dropped", \.dropped),
    ("awd_bus_refused_total", "Messages to this node that no node has sent just now", \.refused),
    ("awd_bus_interruptions_total", "Lost connections of the bus", \.interruptions),
  ]

  private func gauges<Statistics>(
    _ series: Series<Statistics>, _ read: @escaping @Sendable () -> Statistics
  ) {
    for (name, help, number) in series {
      runtime.metrics.gauge(name, help) { Double(read()[keyPath: number]) }
    }
  }

  private func counters<Statistics>(
    _ series: Series<Statistics>, _ read: @escaping @Sendable () -> Statistics
  ) {
    for (name, help, number) in series {
      runtime.metrics.counter(name, help) { Double(read()[keyPath: number]) }
    }
  }
}

extension StoreStatistics {
  fileprivate var walBytes: Int { walPages * 4096 }

  fileprivate var writesWithoutCommit: Int { writesFailed + writesRefused }
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
