internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform

@testable import WalletClient

private let now = HTTPDate(1_700_000_000)
private let older = HTTPDate(1_600_000_000)
private let old = HTTPDate(1_600_000_100)
private let newer = HTTPDate(1_600_000_200)
private let future = HTTPDate(1_800_000_000)

private let march = namespace("2019/03")
private let rejection = TokenScriptRejection(code: .signature, message: "not signed")

private func script(_ namespace: TokenScriptNamespace, time: HTTPDate? = nil) -> SignedTokenScript {
  SignedTokenScript(
    namespace: namespace, signer: "shop.example", key: "k", trust: .unchecked,
    signingTime: time.map { Timestamp(seconds: $0.seconds) })
}

/// A response, with the result of inspecting its file.
enum Step: Sendable {
  case file(HTTPDate?)
  case good(signed: HTTPDate?)
  case bad
  case notModified(HTTPDate?)
  case absent
  case gone
  case choices
  case failure
}

/// The exchange's actions, in short.
private func run(
  _ namespaces: [TokenScriptNamespace], local: TokenScriptExchange.LocalFile?, _ steps: [Step]
) -> (actions: [String], report: TokenScriptReport?) {
  var exchange = TokenScriptExchange(namespaces: namespaces, local: local, now: now)
  var actions: [String] = []
  func note(_ action: TokenScriptExchange.Action) -> TokenScriptReport? {
    switch action {
    case .request(let namespace, let date):
      actions.append("ask \(namespace?.path ?? "any")" + (date.map { " \($0.seconds)" } ?? ""))
    case .inspect(let namespace): actions.append("inspect \(namespace?.path ?? "any")")
    case .store(let modified, let report):
      actions.append("store \(modified.seconds)")
      return report
    case .finish(let report):
      actions.append("finish")
      return report
    }
    return nil
  }
  var report = note(exchange.start())
  for step in steps {
    guard report == nil else {
      actions.append("after the end")
      break
    }
    switch step {
    case .file(let date): report = note(exchange.received(.file(lastModified: date)))
    case .good(let time):
      let found = namespaces.first ?? may
      report = note(exchange.inspected(.success(script(found, time: time))))
    case .bad: report = note(exchange.inspected(.failure(rejection)))
    case .notModified(let date): report = note(exchange.received(.notModified(lastModified: date)))
    case .absent: report = note(exchange.received(.absent(isGone: false)))
    case .gone: report = note(exchange.received(.absent(isGone: true)))
    case .choices: report = note(exchange.received(.choices([])))
    case .failure: report = note(exchange.received(.failure("broken")))
    }
  }
  return (actions, report)
}

/// The decisions, without a server or a file.
@Suite(.ownThreads) struct TokenScriptExchangeTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    var namespaces = [may, april]
    var local: HTTPDate?
    var localNamespace: TokenScriptNamespace? = may
    var isOtherSigners = false
    var provenance = TokenScriptExchange.LocalFile.Provenance.own
    let steps: [Step]
    let actions: [String]
    let outcome: String

    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case(
      name: "first download", steps: [.file(old), .good(signed: older)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(old.seconds)"], outcome: "stored"),
    Case(
      name: "the repository chooses", namespaces: [], steps: [.file(old), .good(signed: nil)],
      actions: ["ask any", "inspect any", "store \(old.seconds)"], outcome: "stored"),
    Case(
      name: "the second preference", steps: [.absent, .file(old), .good(signed: nil)],
      actions: ["ask 2019/05", "ask 2019/04", "inspect 2019/04", "store \(old.seconds)"],
      outcome: "stored"),
    Case(
      name: "the first preference is gone", steps: [.gone, .file(old), .good(signed: nil)],
      actions: ["ask 2019/05", "ask 2019/04", "inspect 2019/04", "store \(old.seconds)"],
      outcome: "stored"),
    Case(
      name: "the first preference is invalid",
      steps: [.file(newer), .bad, .file(old), .good(signed: nil)],
      actions: [
        "ask 2019/05", "inspect 2019/05", "ask 2019/04", "inspect 2019/04", "store \(old.seconds)",
      ], outcome: "stored"),
    Case(
      name: "nothing anywhere", steps: [.absent, .absent],
      actions: ["ask 2019/05", "ask 2019/04", "finish"], outcome: "absent"),
    Case(
      name: "gone", steps: [.gone, .absent], actions: ["ask 2019/05", "ask 2019/04", "finish"],
      outcome: "gone"),
    Case(
      name: "an invalid first download", namespaces: [may], steps: [.file(old), .bad],
      actions: ["ask 2019/05", "inspect 2019/05", "finish"], outcome: "invalid"),
    Case(
      name: "invalid, then nothing", steps: [.file(old), .bad, .absent],
      actions: ["ask 2019/05", "inspect 2019/05", "ask 2019/04", "finish"], outcome: "invalid"),
    Case(
      name: "a server that fails is no reason for another namespace", steps: [.failure],
      actions: ["ask 2019/05", "finish"], outcome: "failed"),
    Case(
      name: "choices", steps: [.choices], actions: ["ask 2019/05", "finish"], outcome: "choices"),
    Case(
      name: "not modified, unasked", steps: [.notModified(old)],
      actions: ["ask 2019/05", "finish"], outcome: "failed"),
    Case(
      name: "no date at all", steps: [.file(nil), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store 0"], outcome: "stored"),
    Case(
      name: "no date but the signature's", steps: [.file(nil), .good(signed: older)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(older.seconds)"], outcome: "stored"),
    Case(
      name: "a date in the future", steps: [.file(future), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(now.seconds)"], outcome: "stored"),
    Case(
      name: "a date before time began", steps: [.file(HTTPDate(-5)), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store 0"], outcome: "stored"),
    Case(
      name: "not modified", local: old, steps: [.notModified(old)],
      actions: ["ask 2019/05 \(old.seconds)", "finish"], outcome: "unchanged"),
    Case(
      name: "not modified, without a date", local: old, steps: [.notModified(nil)],
      actions: ["ask 2019/05 \(old.seconds)", "finish"], outcome: "unchanged"),
    Case(
      name: "the author's own", local: old, steps: [.notModified(older)],
      actions: ["ask 2019/05 \(old.seconds)", "finish"], outcome: "own \(older.seconds)"),
    Case(
      name: "the author's own, in the future", local: future, steps: [.notModified(older)],
      actions: ["ask 2019/05 \(now.seconds)", "finish"], outcome: "own \(older.seconds)"),
    Case(
      name: "a server that heeds no conditions", local: old, steps: [.file(old)],
      actions: ["ask 2019/05 \(old.seconds)", "finish"], outcome: "unchanged"),
    Case(
      name: "a server that heeds no conditions, the author's own", local: old,
      steps: [.file(older)], actions: ["ask 2019/05 \(old.seconds)", "finish"],
      outcome: "own \(older.seconds)"),
    Case(
      name: "a server without dates, the author's own", local: old,
      steps: [.file(nil), .good(signed: older)],
      actions: ["ask 2019/05 \(old.seconds)", "inspect 2019/05", "finish"],
      outcome: "own \(older.seconds)"),
    Case(
      name: "an update", local: old, steps: [.file(newer), .good(signed: nil)],
      actions: ["ask 2019/05 \(old.seconds)", "inspect 2019/05", "store \(newer.seconds)"],
      outcome: "updated"),
    Case(
      name: "an invalid update makes way for nothing less", local: old,
      steps: [.file(newer), .bad],
      actions: ["ask 2019/05 \(old.seconds)", "inspect 2019/05", "finish"], outcome: "invalid"),
    Case(
      name: "an invalid update, the local file is of the second preference",
      namespaces: [may, april, march], local: old, localNamespace: april,
      steps: [.file(newer), .bad, .file(newer), .bad],
      actions: [
        "ask 2019/05", "inspect 2019/05", "ask 2019/04 \(old.seconds)", "inspect 2019/04", "finish",
      ], outcome: "invalid"),
    Case(
      name: "a better namespace, of the same age", local: old, localNamespace: april,
      steps: [.file(old), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(old.seconds)"], outcome: "updated"),
    Case(
      name: "a better namespace, older: the author's own", local: old, localNamespace: april,
      steps: [.file(older)], actions: ["ask 2019/05", "finish"], outcome: "own \(older.seconds)"),
    Case(
      name: "not modified, asked about another namespace", local: old, localNamespace: april,
      steps: [.notModified(old)], actions: ["ask 2019/05", "finish"], outcome: "failed"),
    Case(
      name: "the repository chooses, and the local file will do", namespaces: [], local: old,
      steps: [.notModified(old)], actions: ["ask any \(old.seconds)", "finish"],
      outcome: "unchanged"),
    Case(
      name: "an invalid update of what is no TokenScript", local: old, localNamespace: nil,
      steps: [.file(newer), .bad, .file(newer), .good(signed: nil)],
      actions: [
        "ask 2019/05 \(old.seconds)", "inspect 2019/05", "ask 2019/04 \(old.seconds)",
        "inspect 2019/04", "store \(newer.seconds)",
      ], outcome: "updated"),
    Case(
      name: "another signer's, older", local: old, isOtherSigners: true,
      steps: [.file(older), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(older.seconds)"], outcome: "updated"),
    Case(
      name: "another signer's, invalid", local: old, isOtherSigners: true,
      steps: [.file(older), .bad], actions: ["ask 2019/05", "inspect 2019/05", "finish"],
      outcome: "invalid"),
    Case(
      name: "a namespace withdrawn", local: old,
      steps: [.absent, .file(newer), .good(signed: nil)],
      actions: [
        "ask 2019/05 \(old.seconds)", "ask 2019/04", "inspect 2019/04", "store \(newer.seconds)",
      ], outcome: "updated"),
    Case(
      name: "a better namespace, signed earlier than what was downloaded", local: old,
      localNamespace: april, provenance: .downloaded, steps: [.file(older), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(older.seconds)"], outcome: "updated"),
    Case(
      name: "a namespace that is read instead of one that isn't", local: old,
      localNamespace: march, provenance: .downloaded, steps: [.file(older), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(older.seconds)"], outcome: "updated"),
    Case(
      name: "an older file of a lesser namespace", local: old, provenance: .downloaded,
      steps: [.absent, .file(old)],
      actions: ["ask 2019/05 \(old.seconds)", "ask 2019/04", "finish"],
      outcome: "own \(old.seconds)"),
    Case(
      name: "another location, older", local: old, provenance: .downloadedElsewhere,
      steps: [.file(older), .good(signed: nil)],
      actions: ["ask 2019/05", "inspect 2019/05", "store \(older.seconds)"], outcome: "updated"),
    Case(
      name: "another location, not modified", local: old, provenance: .downloadedElsewhere,
      steps: [.notModified(old)], actions: ["ask 2019/05", "finish"], outcome: "failed"),
    Case(
      name: "the same location, older", local: old, provenance: .downloaded,
      steps: [.file(older)], actions: ["ask 2019/05 \(old.seconds)", "finish"],
      outcome: "own \(older.seconds)"),
    Case(
      name: "the repository chooses another version", namespaces: [], local: old,
      localNamespace: april, provenance: .downloaded, steps: [.file(older), .good(signed: nil)],
      actions: ["ask any \(old.seconds)", "inspect any", "store \(older.seconds)"],
      outcome: "updated"),
    Case(
      name: "nothing any more", namespaces: [may], local: old, steps: [.absent],
      actions: ["ask 2019/05 \(old.seconds)", "finish"], outcome: "absent"),
  ]

  @Test(arguments: cases)
  func decides(_ example: Case) throws {
    let local = example.local.map {
      TokenScriptExchange.LocalFile(
        modified: $0, namespace: example.localNamespace, isOtherSigners: example.isOtherSigners,
        provenance: example.provenance)
    }
    let (actions, finished) = run(example.namespaces, local: local, example.steps)
    #expect(actions == example.actions)
    let report = try #require(finished)
    let outcome =
      switch report.outcome {
      case .stored(_, _, let isUpdate): isUpdate ? "updated" : "stored"
      case .unchanged: "unchanged"
      case .unreadable: "unreadable"
      case .ownFile(let date): "own \(date.seconds)"
      case .choices: "choices"
      case .absent(let isGone): isGone ? "gone" : "absent"
      case .invalid: "invalid"
      case .failed: "failed"
      }
    #expect(outcome == example.outcome)
    #expect(report.hasFile == (local != nil || outcome == "stored"))
    #expect(report.attempts.count == actions.count { $0.hasPrefix("ask") })
    let rejected = example.steps.count { if case .bad = $0 { true } else { false } }
    #expect(report.attempts.count { $0.rejection != nil } == rejected)
  }
}
