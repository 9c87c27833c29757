import NIOCore
import RequestPath
import Testing
import Transport

/// When a server's name is resolved and what becomes of its addresses, by a clock of the test.
@Suite("The name of an app's server") struct NameStateTests {
    private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1_000_000_000) + .seconds(seconds) }

    private static func found(_ addresses: String...) -> NameResolver.Answer {
        .success(addresses.flatMap(Self.address))
    }

    private static func address(_ text: String) -> [SocketAddress] {
        (try? SocketAddress(ipAddress: text, port: 80)).map { [$0] } ?? []
    }

    private static let failure = NameResolver.Answer.failure(UnknownHost(host: "app", cause: "no"))

    /// A name that was resolved at 0.
    private static func resolved(_ answer: NameResolver.Answer = found("192.0.2.1")) -> NameState {
        var name = NameState(period: .seconds(30))
        _ = name.begin(now: self.at(0))
        _ = name.finish(answer, now: self.at(0))
        return name
    }

    @Test func itIsResolvedByTime() {
        var name = NameState(period: .seconds(30))
        #expect(name.begin(now: Self.at(0)) == true)
        #expect(name.isRunning)
        #expect(name.begin(now: Self.at(100)) == false)
        #expect(
            name.finish(Self.found("192.0.2.1"), now: Self.at(100))
                == .moved(to: Self.address("192.0.2.1"), gone: [])
        )
        #expect(name.begin(now: Self.at(129)) == false)
        #expect(name.begin(now: Self.at(130)) == true)
        #expect(name.finish(Self.found("192.0.2.1"), now: Self.at(130)) == .none)
    }

    @Test func aFailedConnectionIsAReasonToAskButNotMoreThanOnceASecond() {
        var name = Self.resolved()
        name.doubt()
        #expect(name.begin(now: Self.at(0)) == false)
        #expect(name.begin(now: Self.at(1)) == true)
        // What fails meanwhile may have failed at an address that the lookup under way takes from before.
        name.doubt()
        #expect(name.begin(now: Self.at(5)) == false)
        _ = name.finish(Self.found("192.0.2.1"), now: Self.at(5))
        #expect(name.begin(now: Self.at(5)) == false)
        #expect(name.begin(now: Self.at(6)) == true)
        _ = name.finish(Self.found("192.0.2.1"), now: Self.at(6))
        #expect(name.begin(now: Self.at(35)) == false)
    }

    @Test func addressesThatAreGoneAreNamed() {
        var name = Self.resolved(Self.found("192.0.2.1", "192.0.2.2"))
        let version = name.version
        _ = name.begin(now: Self.at(30))
        // Name servers give the same addresses in any order.
        #expect(name.finish(Self.found("192.0.2.2", "192.0.2.1"), now: Self.at(30)) == .none)
        #expect(name.version == version)
        _ = name.begin(now: Self.at(60))
        #expect(
            name.finish(Self.found("192.0.2.3", "192.0.2.2"), now: Self.at(60))
                == .moved(
                    to: Self.address("192.0.2.3") + Self.address("192.0.2.2"),
                    gone: Self.address("192.0.2.1")
                )
        )
        #expect(name.version != version)
        _ = name.begin(now: Self.at(90))
        #expect(
            name.finish(Self.found("192.0.2.2"), now: Self.at(90))
                == .moved(to: Self.address("192.0.2.2"), gone: Self.address("192.0.2.3"))
        )
    }

    @Test func aFailureChangesNoAddressAndIsToldOnce() {
        var name = Self.resolved()
        let version = name.version
        _ = name.begin(now: Self.at(30))
        #expect(name.finish(Self.failure, now: Self.at(30)) == .failed(cause: "no"))
        #expect(name.addresses == Self.address("192.0.2.1") && name.version == version && name.isFailing)
        #expect(name.begin(now: Self.at(34)) == false)
        #expect(name.begin(now: Self.at(35)) == true)
        #expect(name.finish(Self.failure, now: Self.at(65)) == .none)
        #expect(name.begin(now: Self.at(70)) == true)
        #expect(name.finish(Self.found("192.0.2.1"), now: Self.at(70)) == .recovered)
        #expect(!name.isFailing && name.version == version)
        #expect(name.begin(now: Self.at(99)) == false)
    }

    @Test func requestsWaitForOneLookupNoLongerThanTheyWouldForAConnection() {
        var name = NameState(period: .seconds(30))
        #expect(!name.isWorthWaiting(now: Self.at(0), patience: .seconds(2)))
        _ = name.begin(now: Self.at(0))
        #expect(name.isWorthWaiting(now: Self.at(1), patience: .seconds(2)))
        // Name servers that do not answer for minutes.
        #expect(!name.isWorthWaiting(now: Self.at(2), patience: .seconds(2)))
        _ = name.finish(Self.failure, now: Self.at(600))
        #expect(!name.isWorthWaiting(now: Self.at(600), patience: .seconds(2)))
    }

    @Test func aShortPeriodIsItsOwnRest() {
        var name = NameState(period: .milliseconds(100))
        _ = name.begin(now: Self.at(0))
        _ = name.finish(Self.failure, now: Self.at(0))
        #expect(name.begin(now: Self.at(0) + .milliseconds(100)) == true)
    }
}
