/// Autonomous system numbers from a list of `prefix,asn` lines.
///
/// The number may begin with `AS`. `#` begins a comment, and blank lines are ignored. The longest prefix wins; number 0
/// excludes a part of a wider prefix. One invalid line rejects the whole list, because a list with gaps would reject
/// devices.
struct ASNList: Sendable {
    private let table: PrefixTable<UInt32>

    init(path: String) throws(AddressFileError) {
        try self.init(SourceFile.content(of: path), path: path)
    }

    init(_ content: [UInt8], path: String) throws(AddressFileError) {
        var entries: [(block: CIDRBlock, value: UInt32)] = []
        var seen: [CIDRBlock: UInt32] = [:]
        let lines = content.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let entry = try Self.entry(line, path: path, line: index + 1) else { continue }
            if let other = seen.updateValue(entry.value, forKey: entry.block) {
                guard other == entry.value else {
                    let detail = "\(entry.block) is AS\(other) on an earlier line"
                    throw .invalidLine(path: path, line: index + 1, detail: detail)
                }
                continue
            }
            entries.append(entry)
        }
        guard entries.contains(where: { $0.value != 0 }) else { throw .noNumbers(path: path) }
        self.table = PrefixTable(entries)
    }

    /// Returns the number of the longest prefix that contains `address`; `nil` if none exists or the number is 0.
    func number(of address: IPAddress) -> UInt32? {
        guard let number = self.table.value(for: address), number != 0 else { return nil }
        return number
    }

    private static func entry(
        _ line: ArraySlice<UInt8>,
        path: String,
        line number: Int
    ) throws(AddressFileError) -> (block: CIDRBlock, value: UInt32)? {
        let text = Self.trimmed(line.prefix { $0 != 0x23 })
        guard !text.isEmpty else { return nil }
        let fields = text.split(separator: 0x2C, omittingEmptySubsequences: false).map(Self.trimmed)
        guard fields.count == 2 else {
            throw .invalidLine(path: path, line: number, detail: "not of the form prefix,asn")
        }
        guard let block = CIDRBlock(String(decoding: fields[0], as: UTF8.self)) else {
            throw .invalidLine(
                path: path,
                line: number,
                detail: "the prefix must be an address/length whose bits beyond the length are zero"
            )
        }
        guard let value = Self.systemNumber(fields[1]) else {
            throw .invalidLine(path: path, line: number, detail: "the asn must be a number from 0 to 4294967295")
        }
        return (block, value)
    }

    /// Returns the number in `AS64500` or `64500`.
    static func systemNumber(_ field: ArraySlice<UInt8>) -> UInt32? {
        let isMarked = field.count > 2 && field.prefix(2).elementsEqual([0x41, 0x53]) { $0 & 0xDF == $1 }
        let digits = isMarked ? field.dropFirst(2) : field
        guard (1...10).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt32(exactly: digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - 0x30) })
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
        guard let last = text.lastIndex(where: { !isBlank($0) }) else { return [] }
        return text[...last].drop(while: isBlank)
    }
}
