import Foundation
import Observability
import Testing
import Vocabulary

@Suite(.timeLimit(.minutes(5)))
struct AuditStreamTests {
    private let clock = Clock { UnixTime(milliseconds: 1_795_241_820_123) }

    @Test func anEventIsOneLineWithEverythingKnown() throws {
        let sink = try FileSink()
        let audit = AuditStream(queue: sink.writer.queue(.audit, capacity: 65_536), clock: self.clock)
        var event = AuditEvent(
            .transferTokenRejected,
            code: .warning,
            reason: .bindingASNMismatch,
            subject: "user-1",
            session: "ses_1",
            clientID: "web",
            host: "app.example.com",
            address: "192.0.2.1",
            asn: 64_496,
            userAgent: "evil\n{\"stream\":\"audit\"}",
            requestID: "req",
            details: [("policy", "burn"), ("na\"me", "val\nue")]
        )
        event.description = "A sentence."
        event.audience = "urn:app.example.com:session_transfer"
        event.boundAddress = "2001:db8::"
        event.boundASN = .max
        event.country = "SE"
        event.boundCountry = "GB"
        event.isTriggeredByTransferToken = true
        event.fingerprint = Fingerprint("mzxw6ytboi")
        event.tokenFingerprint = Fingerprint("aaaaaaaaaa")
        #expect(audit.emit(event))
        #expect(audit.emit(AuditEvent(.configReloaded)))
        let expected = #"""
            {"stream":"audit","time":"2026-11-21T06:17:00.123Z","event":"transfer_token.rejected","code":"w",\#
            "reason":"binding.asn_mismatch","description":"A sentence.",\#
            "audience":"urn:app.example.com:session_transfer",\#
            "subject":"user-1","session":"ses_1","fingerprint":"mzxw6ytboi","token_fingerprint":"aaaaaaaaaa",\#
            "client_id":"web",\#
            "host":"app.example.com","address":"192.0.2.1","asn":64496,"country":"SE","bound_address":"2001:db8::",\#
            "bound_asn":4294967295,"bound_country":"GB","user_agent":"evil\u000a{\"stream\":\"audit\"}","request_id":"req",\#
            "details":{"triggered_by_session_transfer_token":true,"policy":"burn","na\"me":"val\u000aue"}}
            {"stream":"audit","time":"2026-11-21T06:17:00.123Z","event":"config.reloaded"}

            """#
        #expect(String(decoding: try #require(sink.contents()), as: UTF8.self) == expected)
    }

    /// The codes are those of Auth0's logs, for tools that read them.
    @Test func codesAreAuth0s() {
        #expect(
            AuditEvent.Code.allCases.map(\.rawValue) == [
                "sertft", "fertft", "seacft", "feacft", "secte", "fecte", "sens", "fens", "srrt", "s", "f", "ssa",
                "fsa", "sdel", "sdelsa", "fdelsa", "sdeleacft", "fdeleacft", "slo", "w",
            ]
        )
    }

    @Test(arguments: [AuditStream.WhenFull.drop, .refuse])
    func aFullQueueRefusesOnlyWhereThePolicySaysSo(policy: AuditStream.WhenFull) throws {
        // Not closed: the writer may still be trying when the test is over.
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        let writer = try LineWriter(descriptor: full)
        let queue = writer.queue(.audit, capacity: 4096)
        // Access lines have their own queue and displace no audit lines.
        let access = writer.queue(.access, capacity: 4096)
        for _ in 0..<200 { access.append(line: Array(repeating: 0x61, count: 99) + [0x0A]) }
        #expect(access.dropped > 0)
        let audit = AuditStream(queue: queue, whenFull: policy, clock: self.clock)
        let event = AuditEvent(.sessionCreated, subject: String(repeating: "x", count: 500))
        var answers: [Bool] = []
        for _ in 0..<10 { answers.append(audit.emit(event)) }
        #expect(answers.prefix(6).allSatisfy { $0 })
        #expect(answers.suffix(3).allSatisfy { $0 == (policy == .drop) })
        #expect(queue.dropped >= 3)
        writer.stop(timeout: .zero)
    }

    @Test(arguments: [AuditEvent.Kind.sessionDenied, .bindingMismatch, .signInFailed])
    func whatStrangersCauseLeavesRoomForActs(kind: AuditEvent.Kind) throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        let writer = try LineWriter(descriptor: full)
        let queue = writer.queue(.audit, capacity: 8192)
        let audit = AuditStream(queue: queue, whenFull: .refuse, clock: self.clock)
        for _ in 0..<100 { audit.emit(AuditEvent(kind, userAgent: String(repeating: "x", count: 200))) }
        #expect(queue.dropped > 80)
        let act = AuditEvent(.sessionCreated, subject: String(repeating: "x", count: 200))
        for _ in 0..<10 { #expect(audit.emit(act)) }
        writer.stop(timeout: .zero)
    }

    @Test func withoutAQueueNothingIsWrittenOrRefused() {
        #expect(AuditStream(queue: nil, whenFull: .refuse).emit(AuditEvent(.sessionEnded)))
    }
}
