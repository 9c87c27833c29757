import Foundation
import Observability
import Testing

/// What `explain --session` tells of log lines.
@Suite("The story of a session") struct SessionStoryTests {
    private static let created = """
        {"stream":"audit","time":"2026-11-24T08:00:00.000Z","event":"session.created","code":"s","subject":"user-1815",\
        "session":"ses_one","fingerprint":"mzxw6ytboi","host":"app.example.com","address":"192.0.2.1","request_id":"r1",\
        "details":{"kind":"web","expires_at":"2026-11-24T20:00:00.000Z","idle_seconds":"1800"}}
        """

    private static func access(
        _ time: String,
        request: String,
        status: Int = 200,
        reason: String? = nil,
        fingerprint: String = "mzxw6ytboi"
    ) -> String {
        let why = reason.map { ",\"reason\":\"\($0)\"" } ?? ""
        return """
            {"stream":"access","time":"2026-11-24T\(time)Z","request_id":"\(request)","client":"192.0.2.1","method":"GET",\
            "host":"app.example.com","path":"/orders","status":\(status)\(why),"fingerprint":"\(fingerprint)"}
            """
    }

    private static func story(_ lines: [String], of name: String = "mzxw6ytboi") -> String {
        SessionStory(of: name, in: [Array(lines.joined(separator: "\n").utf8)]).text
    }

    @Test("It tells the beginning, the requests and the end by time, whatever the order of the lines")
    func idle() {
        let lines = [
            Self.access("09:00:00.000", request: "r4", status: 303, reason: "session.idle"),
            Self.access("08:01:00.000", request: "r2"), Self.created, "not a line of the gateway",
            Self.access("08:02:00.000", request: "r3"),
            Self.access("08:03:00.000", request: "r9", fingerprint: "aaaaaaaaaa"),
            """
            {"stream":"audit","time":"2026-11-24T08:32:30.000Z","event":"session.ended","reason":"session.idle",\
            "subject":"user-1815","session":"ses_one","fingerprint":"mzxw6ytboi"}
            """,
        ]
        let expected = """
            session
              fingerprint: mzxw6ytboi
              session: ses_one
              subject: user-1815
              host: app.example.com
              ends at the latest: 2026-11-24T20:00:00.000Z
              ends when unused for: 1800 s
            events
              2026-11-24T08:00:00.000Z  session.created from 192.0.2.1
              2026-11-24T08:01:00.000Z  2 requests were allowed, the last at 2026-11-24T08:02:00.000Z
            """
        let byFingerprint = Self.story(lines)
        #expect(byFingerprint.hasPrefix(expected), "\(byFingerprint)")
        #expect(byFingerprint.contains("GET app.example.com/orders from 192.0.2.1: 303: session.idle, it was not used"))
        #expect(byFingerprint.contains("result\n  It ended by 2026-11-24T08:32:30.000Z: session.idle, it was not used"))
        #expect(Self.story(lines, of: "ses_one") == byFingerprint)
    }

    @Test("It follows the sign-out of the session that it was made from, and of all sessions of its user")
    func others() {
        let transferred = """
            {"stream":"audit","time":"2026-11-24T08:00:00.000Z","event":"transfer_token.consumed","subject":"user-1815",\
            "session":"ses_web","fingerprint":"mzxw6ytboi","token_fingerprint":"bbbbbbbbbb",\
            "details":{"parent_session":"ses_app"}}
            """
        func ended(_ member: String, _ reason: String) -> String {
            """
            {"stream":"audit","time":"2026-11-24T08:10:00.000Z","event":"session.ended","reason":"\(reason)",\(member)}
            """
        }
        let refused = Self.access("08:11:00.000", request: "r2", status: 303, reason: "session.revoked")
        for (end, words) in [
            (ended(#""subject":"user-1815","session":"ses_app""#, "session.signed_out"), "the user signed out"),
            (ended(#""subject":"user-1815""#, "session.operator_ended"), "an operator ended it"),
            (ended(#""subject":"user-1815""#, "session.provider_signed_out"), "the provider signed the user out"),
        ] {
            let story = Self.story([refused, end, transferred])
            #expect(
                story.contains("result\n  It ended by 2026-11-24T08:10:00.000Z: ") && story.contains(words),
                "\(story)"
            )
            // The token that made it leads to the same story.
            #expect(Self.story([refused, end, transferred], of: "bbbbbbbbbb").contains(words))
        }
        for other in [
            ended(#""subject":"user-1815","session":"ses_other""#, "session.signed_out"),
            ended(#""subject":"user-1","session":"ses_else""#, "session.signed_out"),
        ] {
            let story = Self.story([refused, other, transferred])
            #expect(story.contains("It was refused at 2026-11-24T08:11:00.000Z: session.revoked"), "\(story)")
        }
    }

    @Test("Ends of the user's other sessions, from before it began or after its own end, are not told")
    func otherTimes() {
        func ended(_ time: String, _ member: String, _ reason: String) -> String {
            """
            {"stream":"audit","time":"2026-11-24T\(time)Z","event":"session.ended","reason":"\(reason)",\(member)}
            """
        }
        let all = #""subject":"user-1815""#
        let own = all + #","session":"ses_one","fingerprint":"mzxw6ytboi""#
        let before = ended("07:59:59.999", all, "session.operator_ended")
        let during = ended("08:30:00.000", all, "session.provider_signed_out")
        let after = ended("08:45:00.000", all, "session.password_changed")
        let story = Self.story([before, Self.created, Self.access("08:31:00.000", request: "r2"), during])
        #expect(!story.contains("operator_ended") && story.contains("result\n  It ended by 2026-11-24T08:30:00.000Z"))
        // Between its beginning and a refusal.
        let open = Self.story([
            before, Self.created, Self.access("08:31:00.000", request: "r2", status: 303, reason: "session.revoked"),
        ])
        #expect(!open.contains("operator_ended") && open.contains("result\n  It was refused at"), "\(open)")
        let gone = Self.story([before, Self.created, ended("08:40:00.000", own, "session.signed_out"), after])
        #expect(!gone.contains("password_changed") && !gone.contains("operator_ended"), "\(gone)")
        #expect(gone.contains("result\n  It ended by 2026-11-24T08:40:00.000Z: session.signed_out"), "\(gone)")
        // Without a line of its beginning, an end may be its own.
        let lost = Self.story([
            before, Self.access("08:31:00.000", request: "r2", status: 303, reason: "session.revoked"),
            ended("08:31:00.000", own, "session.revoked"),
        ])
        #expect(lost.contains("operator_ended"), "\(lost)")
    }

    @Test("Where nobody knows the session any more, its two ends tell which one it was")
    func guessed() {
        func result(_ time: String, before: [String] = []) -> String {
            let refused = Self.access(time, request: "r9", status: 303, reason: "session.unknown")
            return String(Self.story([Self.created] + before + [refused]).split(separator: "\n").last ?? "")
        }
        #expect(result("08:20:00.000").contains("session.unknown"))
        #expect(result("08:31:00.000").contains("longer than its 1800 s (session.idle)"))
        #expect(
            result("08:31:00.000", before: [Self.access("08:15:00.000", request: "r2")]).contains("session.unknown")
        )
        #expect(result("20:00:01.000").contains("at the latest (session.expired)"))
        #expect(Self.story([Self.created]).hasSuffix("No line says that it has ended."))
        #expect(SessionStory(of: "mzxw6ytboi", in: [Array("nothing\n".utf8)]).isEmpty)
    }
}
