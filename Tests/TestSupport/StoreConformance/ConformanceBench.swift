package import NIOCore
package import Sessions
package import StoreBench
import Vocabulary

/// How much room a store under test has.
package struct StoreRoom: Sendable {
    package var sessions: Int
    package var markers: Int

    package init(sessions: Int = 10_000, markers: Int = 10_000) {
        self.sessions = sessions
        self.markers = markers
    }
}

/// What the conformance suite needs from a store's test target: new stores, and a way to let time pass for them.
package struct ConformanceBench: Sendable {
    package let group: any EventLoopGroup
    package let clock: MovableClock
    private let make: @Sendable (StoreRoom, MovableClock) async throws -> any RecordStore
    private let pass: @Sendable (Duration) async throws -> Void
    /// The kind of single-use record that the case uses.
    var specimen: any SingleUseSpecimen.Type = TransferToken.self

    /// - Parameters:
    ///   - group: the loops on which the store is called.
    ///     - clock: the time with which sessions are stamped.
    ///     - pass: called after `clock` was moved; lets time pass for a store that has its own clock.
    ///     - make: makes an empty store.
    package init(
        group: any EventLoopGroup,
        clock: MovableClock = MovableClock(),
        pass: @escaping @Sendable (Duration) async throws -> Void = { _ in },
        make: @escaping @Sendable (StoreRoom, MovableClock) async throws -> any RecordStore
    ) {
        self.group = group
        self.clock = clock
        self.pass = pass
        self.make = make
    }

    /// The same bench for another kind of single-use record.
    func with(_ specimen: any SingleUseSpecimen.Type) -> ConformanceBench {
        var bench = self
        bench.specimen = specimen
        return bench
    }

    func store(_ room: StoreRoom = StoreRoom()) async throws -> StoreUnderTest {
        StoreUnderTest(store: try await self.make(room, self.clock), bench: self)
    }

    func advance(by duration: Duration) async throws {
        self.clock.advance(by: duration)
        try await self.pass(duration)
    }
}

/// An expectation that a store did not meet.
package struct ConformanceFailure: Error, CustomStringConvertible {
    package let description: String
}

/// Throws unless `condition` holds.
func expect(
    _ condition: Bool,
    _ expectation: @autoclosure () -> String,
    file: StaticString = #fileID,
    line: UInt = #line
) throws {
    guard condition else { throw ConformanceFailure(description: "\(file):\(line): expected \(expectation())") }
}
