import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Runs each of the fuzzers' starting inputs and past findings once. `deploy/test.sh --soak` continues from them.
@Suite struct FuzzCorpusTests {
    private static func inputs(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = PackageFolder.root.appending(path: "Tests/Fuzz/\(target.rawValue)/corpus")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
    }

    @Test(arguments: FuzzTarget.allCases) func keepsItsPromises(_ target: FuzzTarget) async throws {
        let inputs = try Self.inputs(target)
        #expect(inputs.count >= 5)
        for input in inputs {
            #expect(await target.violation(input.bytes) == nil, "\(target.rawValue)/corpus/\(input.name)")
        }
    }

    @Test(arguments: FuzzTarget.allCases) func keepsThemForSmallChangesToo(_ target: FuzzTarget) async throws {
        var generator = SeededNumbers(seed: 5)
        for input in try Self.inputs(target).sorted(by: { $0.name < $1.name }) {
            for _ in 0..<200 {
                var bytes = input.bytes
                for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                    let position = Int.random(in: 0..<bytes.count, using: &generator)
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: bytes[position] = UInt8.random(in: 0...255, using: &generator)
                    case 1: bytes.remove(at: position)
                    default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &generator)], at: position)
                    }
                }
                if let violation = await target.violation(bytes) {
                    Issue.record("\(violation): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
                }
            }
        }
    }
}
