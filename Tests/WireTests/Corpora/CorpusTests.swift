import RequestPath
import Testing

/// The corpora of llhttp and gunicorn, through the parser and the body decoder.
@Suite(.enabled(if: Corpus.isExpected, Corpus.absence)) struct CorpusTests {
    @Test func refusesEveryItemThatMustBeRefused() throws {
        var count = 0
        for item in try Corpus.all() where item.mustBeRefused {
            count += 1
            let reader = WireReader.read(item.bytes)
            let verdict: Judgements.Verdict? =
                switch reader.end {
                case .refused where reader.requests.isEmpty, .badBody where reader.requests.count == 1: nil
                case .incompleteHead where reader.requests.isEmpty: .unfinished
                case .incompleteBody where reader.requests.count == 1: .unfinished
                default: .taken
                }
            #expect(
                verdict == Judgements.table[item.id]?.verdict,
                "\(item.id): \(reader.end), \(item.raw.debugDescription)"
            )
        }
        #expect(count > 100)
    }

    @Test func everyJudgementIsOfAnItem() throws {
        let ids = Set(try Corpus.all().filter(\.mustBeRefused).map(\.id))
        #expect(Set(Judgements.table.keys).isSubset(of: ids))
        #expect(Judgements.table.values.allSatisfy { $0.sentence.contains("RFC 9") })
    }

    /// Requests that no reader could understand otherwise. The corpora ask of no item that it is taken.
    private static let plain: Set = [
        "method.md: PATCH request", "method.md: QUERY request", "method.md: SEARCH request", "valid/pp_03.http",
        "valid/rfc9110_body_framing_get_cl_nonzero_01.http", "valid/rfc9110_field_name_special_chars_01.http",
        "valid/rfc9110_field_value_htab_trim_01.http", "valid/rfc9112_chunked_ext_quoted_01.http",
        "valid/rfc9112_chunked_size_leading_zeros_01.http", "valid/rfc9112_chunked_size_uppercase_hex_01.http",
    ]

    @Test func takesWhatIsPlainlyValid() throws {
        let items = try Corpus.all().filter { Self.plain.contains($0.id) }
        #expect(Set(items.map(\.id)) == Self.plain)
        for item in items {
            let reader = WireReader.read(item.bytes)
            #expect(reader.requests.first?.isComplete == true, "\(item.id): \(reader.end)")
        }
    }

    @Test func cutsMakeNoDifference() throws {
        for item in try Corpus.all() {
            let whole = WireReader.read(item.bytes)
            for step in [1, 3] {
                let cut = WireReader.read(item.bytes, step: step)
                #expect(cut.requests == whole.requests, "\(item.id) in pieces of \(step)")
                #expect(cut.end.kind == whole.end.kind, "\(item.id) in pieces of \(step): \(whole.end), \(cut.end)")
            }
        }
    }

    @Test func llhttpReadsAcceptedRequestsAlike() throws {
        var compared = 0
        for item in try Corpus.all() {
            let reader = WireReader.read(item.bytes)
            compared += reader.requests.count
            if let difference = try Differential.difference(item.bytes, reader) {
                Issue.record("\(item.id): \(difference)")
            }
        }
        #expect(compared > 20)
    }
}

/// Random changes to valid requests: llhttp reads each request that the gateway accepts with the same method, target,
/// fields and body.
@Suite struct DifferentialTests {
    @Test func seedsAreReadAlike() throws {
        for text in Mutator.seeds {
            let bytes = Array(text.utf8)
            let reader = WireReader.read(bytes)
            #expect(reader.requests.allSatisfy(\.isComplete) && !reader.requests.isEmpty)
            #expect(try Differential.difference(bytes, reader) == nil)
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func mutationsAreReadAlike(_ seed: UInt64) throws {
        var mutator = Mutator(seed: 0xA11_0000 + seed)
        var taken = 0
        var differences = 0
        for _ in 0..<10_000 {
            let bytes = mutator.next()
            let reader = WireReader.read(bytes)
            if !reader.requests.isEmpty { taken += 1 }
            guard let difference = try Differential.difference(bytes, reader) else { continue }
            differences += 1
            if differences <= 5 {
                Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription): \(difference)")
            }
        }
        #expect(taken > 1000)
        #expect(differences == 0)
    }
}
