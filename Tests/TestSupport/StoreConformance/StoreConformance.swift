import Sessions

/// What every `SessionStore` must do, wherever it keeps its records. Each case is run with its own bench:
///
/// ```swift
/// @Test(arguments: StoreConformance.cases) func conforms(_ item: StoreConformance) async throws {
///     try await item.run(bench)
/// }
/// ```
package struct StoreConformance: Sendable, CustomStringConvertible {
    /// The behaviour; the name of the test.
    package let description: String
    private let body: @Sendable (ConformanceBench) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (ConformanceBench) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Runs the case; throws `ConformanceFailure` with the unmet expectation and its place.
    package func run(_ bench: ConformanceBench) async throws {
        try await self.body(bench)
    }

    /// The same case with another kind of single-use record.
    func about(_ specimen: any SingleUseSpecimen.Type) -> StoreConformance {
        StoreConformance("\(self.description) (\(specimen.kind.name))") { try await self.body($0.with(specimen)) }
    }

    /// Cases for every store. Those for single-use records run twice: with a kind whose use creates one session, and
    /// with one whose use creates several records.
    package static let cases: [StoreConformance] =
        Self.sessionCases + Self.absenceCases + Self.replacedSessionCases + Self.endCases + Self.transferCases
        + Self.singleUseCases + Self.singleUseCases.map { $0.about(TestTicket.self) }
        + Self.offspringCases + Self.replaceableCases + Self.onceCases + Self.documentCases
        + Self.foreignSessionCases + Self.indexCases

    private static let singleUseCases = Self.lookupCases + Self.consumptionCases + Self.concurrencyCases

    /// Cases for stores with a known limit on records (`StoreRoom`).
    package static let boundedCases: [StoreConformance] = Self.roomCases + Self.recordRoomCases
}
