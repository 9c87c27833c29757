import NIOCore
import Sessions
import Vocabulary

extension StoreConformance {
    /// Why a session is not there, for the logs.
    static let absenceCases: [StoreConformance] = [
        StoreConformance("a session that was never written is unknown") { bench in
            let store = try await bench.store()
            let key = store.authority.make(.session, in: store.authority.newLineage()).key
            try await expectAbsence(of: key, .sessionUnknown, in: store)
        },
        StoreConformance("a session that idled out is idle, at once and long after") { bench in
            let store = try await bench.store()
            let session = try await store.signIn(idle: .seconds(60))
            try await bench.advance(by: .seconds(61))
            try await expectAbsence(of: session.key, .sessionIdle, in: store)
            try await bench.advance(by: .seconds(3600))
            try await expectAbsence(of: session.key, .sessionIdle, in: store)
        },
        StoreConformance("a session that reached its longest lifetime has expired, for some minutes at least") {
            bench in
            let store = try await bench.store()
            let session = try await store.signIn(life: .seconds(100), idle: .seconds(3600))
            try await bench.advance(by: .seconds(100))
            try await expectAbsence(of: session.key, .sessionExpired, in: store)
            try await bench.advance(by: .seconds(300))
            try await expectAbsence(of: session.key, .sessionExpired, in: store)
        },
        StoreConformance("a session that was ended, alone, with its family or with its subject's, is revoked") {
            bench in
            let store = try await bench.store()
            let alone = try await store.signIn()
            _ = try await store.end(alone.key)
            let family = try await store.signIn()
            try await store.end(family.key.lineage)
            let subject = try await store.signIn(subject: "bob")
            try await store.end(subject: "bob")
            for session in [alone, family, subject] {
                try await expectAbsence(of: session.key, .sessionRevoked, in: store)
            }
        },
    ]

    private static func expectAbsence(of key: RecordKey, _ reason: Reason, in store: StoreUnderTest) async throws {
        let loop = store.loop
        let found = try await loop.flatSubmit {
            let promise = loop.makePromise(of: SessionFinding.self)
            store.store.session(key, on: loop) { promise.completeWith($0.mapError { $0 }) }
            return promise.futureResult
        }.get()
        guard case .absent(let found) = found else { throw ConformanceFailure(description: "a session, not \(reason)") }
        try expect(found == reason, "\(reason.rawValue), not \(found.rawValue)")
    }
}
