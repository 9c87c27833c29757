import Foundation
import GatewayBench
import Testing
import Vocabulary

/// Every reason id that the guide ReasonIDs explains is produced by a test.
@Suite("Reason ids", .blocking) struct ReasonTests {
    @Test("Requests to one gateway produce reasons with the table's status and a line in the log")
    func requests() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        for reason in Reason.allCases {
            let id = reason.rawValue
            let before = bench.count(id)
            var answer: Answer?
            var status = reason.refusal?.status
            switch reason.scenario {
            case .request(let send): answer = try send(bench)
            case .answered(let other, let send): (status, answer) = (other, try send(bench))
            case .alone, .inProcess: continue
            }
            #expect(eventually { bench.count(id) > before }, "\(id) is not in the log: \(answer?.lines ?? [])")
            guard let answer, let status else { continue }
            #expect(answer.status == status, "\(id): \(answer.lines) \(answer.text)")
            if let told = answer.reason {
                #expect(told == id || reason.refusal == nil, "\(answer.text)")
                #expect(answer.text.contains("\"request_id\":\"\(answer.value("x-request-id") ?? "-")\""), "\(id)")
            }
            self.checkFields(of: answer, reason)
        }
    }

    /// Checks the fields that the table requires in addition to the status.
    private func checkFields(of answer: Answer, _ reason: Reason) {
        guard let refusal = reason.refusal, refusal.status == answer.status else { return }
        let id = reason.rawValue
        #expect((answer.value("retry-after") != nil) == (refusal.retryAfter != nil), "\(id): \(answer.lines)")
        #expect((answer.value("www-authenticate") != nil) == (refusal.challenge != nil), "\(id): \(answer.lines)")
        #expect((answer.sessionCookie == "") == refusal.clearsSession, "\(id): \(answer.lines)")
        if refusal.closes { #expect(answer.value("connection") == "close", "\(id): \(answer.lines)") }
    }

    @Test("A gateway or a store of its own produces this reason", arguments: Reason.allCases.filter(\.isAlone))
    func alone(_ reason: Reason) throws {
        if case .alone(let run) = reason.scenario { try run(ReasonAlone(reason: reason)) }
    }

    @Test("Tests in process produce the remaining reasons, in files that name them")
    func inProcess() throws {
        for reason in Reason.allCases {
            guard case .inProcess(let test) = reason.scenario else { continue }
            let file = try TestSources.file(with: test)
            #expect(file?.contains(".\(reason)") == true, "\(reason.rawValue): \(test)")
        }
    }
}

extension Reason {
    fileprivate var isAlone: Bool {
        if case .alone = self.scenario { true } else { false }
    }
}

/// The sources of all tests.
enum TestSources {
    /// The text of the file with a test of this display name; nil if there is none.
    static func file(with test: String) throws -> String? {
        let tests = Gateway.root.appending(path: "Tests")
        let files = FileManager.default.enumerator(atPath: tests.path)?.compactMap { $0 as? String } ?? []
        for file in files
        where file.hasSuffix(".swift") && !file.contains("/Reasons/") && !file.contains("AdvisoryTable") {
            let text = try String(contentsOf: tests.appending(path: file), encoding: .utf8)
            if text.contains("\"\(test)\"") { return text }
        }
        return nil
    }
}
