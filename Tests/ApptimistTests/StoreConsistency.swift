internal import TestSupport
internal import Testing

@testable import Apptimist

extension ApptimistStore {
  /// Expects that no row is left over and all sums are right, once nothing is pending.
  func expectConsistency() async throws {
    let wrong = try await count(
      """
      SELECT
        (SELECT count(*) FROM apptimist_contents c WHERE holders <>
          (SELECT count(*) FROM apptimist_entries WHERE content = c.id)) +
        (SELECT count(*) FROM apptimist_entries WHERE kind = 0
         AND content NOT IN (SELECT id FROM apptimist_contents)) +
        (SELECT count(*) FROM apptimist_entries WHERE (kind = 0) <> (content IS NOT NULL)) +
        (SELECT count(*) FROM apptimist_queues q WHERE
          entries <> (SELECT count(*) FROM apptimist_entries e WHERE e.owner = q.owner)
          OR bytes <>
            (SELECT coalesce(sum(size), 0) FROM apptimist_entries e WHERE e.owner = q.owner)
          OR dropped <> (SELECT count(*) FROM apptimist_dropped d WHERE d.owner = q.owner)) +
        (SELECT count(*) FROM apptimist_shares s WHERE
          entries <> (SELECT count(*) FROM apptimist_entries e
            WHERE e.owner = s.owner AND e.sender = s.sender)
          OR bytes <> (SELECT coalesce(sum(size), -1) FROM apptimist_entries e
            WHERE e.owner = s.owner AND e.sender = s.sender)
          OR oldest <> (SELECT coalesce(min(position), -1) FROM apptimist_entries e
            WHERE e.owner = s.owner AND e.sender = s.sender)) +
        (SELECT count(*) FROM (SELECT DISTINCT owner, sender FROM apptimist_entries) AS pairs) -
        (SELECT count(*) FROM apptimist_shares)
      """)
    #expect(wrong == 0)
    let ids = try await count(
      """
      SELECT (SELECT count(*) FROM apptimist_message_ids) -
        (SELECT count(*) FROM apptimist_entries WHERE kind <> 2) -
        (SELECT count(*) FROM apptimist_dropped)
      """)
    #expect(ids == 0)
  }
}
