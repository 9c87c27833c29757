/// Reads values of the MaxMind DB format 2.0 without trusting them.
///
/// A damaged or hostile file can crash libmaxminddb 1.7.1 (Debian 12), which recurses without a limit and multiplies
/// the node count in 32 bits (maxmind/libmaxminddb#335). The library therefore only searches the tree, and only after
/// `flaw(inFile:)` has checked the metadata.
struct MaxMindData {
    private enum Kind: Int {
        case pointer = 1
        case text, double, bytes, uint16, uint32, map, int32, uint64, uint128, array
        case boolean = 14
        case float
    }

    /// The type, the size and the position of a value, decoded from its first bytes.
    private struct Header {
        let kind: Kind
        /// The number of bytes, elements or members. For a boolean, its value; for a pointer, its target.
        let size: Int
        /// The offset of the content.
        let content: Int

        /// The offset of the next value; for a map or array, of its first element.
        var end: Int {
            switch self.kind {
            case .map, .array, .boolean, .pointer: self.content
            default: self.content + self.size
            }
        }
    }

    private let bytes: UnsafeRawBufferPointer

    /// Makes a reader of the data section or of the metadata. Pointers are offsets from the first byte of `bytes`.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Returns the offset of the value under `key` in the map at `offset`; `nil` if the map has no such member.
    func member(_ key: StaticString, ofMapAt offset: Int) -> Int? {
        guard let map = self.target(at: offset), map.kind == .map else { return nil }
        var position = map.content
        for _ in 0..<map.size {
            guard let header = self.header(at: position), let name = self.target(at: position), name.kind == .text,
                let text = self.content(of: name)
            else { return nil }
            if text.elementsEqual(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount)) {
                return header.end
            }
            guard let next = self.end(ofValueAt: header.end) else { return nil }
            position = next.position
        }
        return nil
    }

    /// Returns the offset of the first element of the array at `offset`; `nil` if the array is empty or missing.
    func firstElement(ofArrayAt offset: Int) -> Int? {
        guard let array = self.target(at: offset), array.kind == .array, array.size > 0 else { return nil }
        return array.content
    }

    /// Returns the unsigned number of 16, 32 or 64 bits at `offset`; `nil` if the value has another type.
    func number(at offset: Int) -> UInt64? {
        guard let header = self.target(at: offset), let content = self.content(of: header) else { return nil }
        let limit =
            switch header.kind {
            case .uint16: 2
            case .uint32: 4
            case .uint64: 8
            default: -1
            }
        guard content.count <= limit else { return nil }
        return content.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns the number of type double at `offset`; `nil` if the value has another type or is not finite.
    func double(at offset: Int) -> Double? {
        guard let header = self.target(at: offset), header.kind == .double, header.size == 8,
            let content = self.content(of: header)
        else { return nil }
        let value = Double(bitPattern: content.reduce(0) { $0 << 8 | UInt64($1) })
        return value.isFinite ? value : nil
    }

    /// Returns the text at `offset`; `nil` if it is not UTF-8.
    func text(at offset: Int) -> String? {
        guard let header = self.target(at: offset), header.kind == .text, let content = self.content(of: header) else {
            return nil
        }
        return String(validating: content, as: UTF8.self)
    }

    /// Returns the end of the value at `offset` and its number of maps and arrays; `nil` if the value is out of bounds.
    func end(ofValueAt offset: Int) -> (position: Int, containers: Int)? {
        var position = offset
        var containers = 0
        var pending = 1
        // Each round reads at least one byte, so the loop ends at the last byte even if a count is too large.
        while pending > 0 {
            guard let header = self.header(at: position) else { return nil }
            pending -= 1
            switch header.kind {
            case .map:
                pending += 2 * header.size
                containers += 1
            case .array:
                pending += header.size
                containers += 1
            default: break
            }
            position = header.end
        }
        return position <= self.bytes.count ? (position, containers) : nil
    }

    private func content(of header: Header) -> UnsafeRawBufferPointer? {
        guard header.size <= self.bytes.count - header.content else { return nil }
        return UnsafeRawBufferPointer(rebasing: self.bytes[header.content..<(header.content + header.size)])
    }

    /// Returns the header of the value at `offset`. Pointers are followed once: a pointer to a pointer is invalid.
    private func target(at offset: Int) -> Header? {
        guard let header = self.header(at: offset) else { return nil }
        guard header.kind == .pointer else { return header }
        guard let target = self.header(at: header.size), target.kind != .pointer else { return nil }
        return target
    }

    private func header(at offset: Int) -> Header? {
        guard let control = self.big(1, at: offset) else { return nil }
        var content = offset + 1
        var type = control >> 5
        if type == Kind.pointer.rawValue {
            return self.pointer(control: control, at: content)
        }
        if type == 0 {
            guard let extended = self.big(1, at: content), extended > 0 else { return nil }
            type = 7 + extended
            content += 1
        }
        guard let kind = Kind(rawValue: type) else { return nil }
        var size = control & 0x1F
        if size >= 29 {
            let count = size - 28
            guard let more = self.big(count, at: content) else { return nil }
            size = [29, 285, 65_821][count - 1] + more
            content += count
        }
        return Header(kind: kind, size: size, content: content)
    }

    private func pointer(control: Int, at offset: Int) -> Header? {
        let count = (control >> 3 & 0x3) + 1
        guard let low = self.big(count, at: offset) else { return nil }
        let high = control & 0x7
        let target =
            switch count {
            case 1: high << 8 | low
            case 2: (high << 16 | low) + 2048
            case 3: (high << 24 | low) + 526_336
            default: low
            }
        return Header(kind: .pointer, size: target, content: offset + count)
    }

    /// Returns `count` bytes as a number, the most significant byte first.
    private func big(_ count: Int, at offset: Int) -> Int? {
        guard offset >= 0, offset <= self.bytes.count - count else { return nil }
        return self.bytes[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
    }
}

/// A value of a database, valid while the database is open.
struct MaxMindValue {
    let data: MaxMindData
    let offset: Int

    subscript(key: StaticString) -> MaxMindValue? {
        self.data.member(key, ofMapAt: self.offset).map { MaxMindValue(data: self.data, offset: $0) }
    }

    var first: MaxMindValue? {
        self.data.firstElement(ofArrayAt: self.offset).map { MaxMindValue(data: self.data, offset: $0) }
    }

    var number: UInt64? { self.data.number(at: self.offset) }
    var double: Double? { self.data.double(at: self.offset) }
    var text: String? { self.data.text(at: self.offset) }
}

extension MaxMindData {
    /// Describes what is wrong with the metadata of a file; `nil` if libmaxminddb can read the file safely.
    static func flaw(inFile file: UnsafeRawBufferPointer) -> String? {
        // libmaxminddb, too, uses the last marker within the last 128 KiB.
        let searched = max(0, file.count - 131_072)
        guard let marker = Self.lastMarker(in: file, from: searched) else { return "it has no metadata" }
        let metadata = MaxMindData(UnsafeRawBufferPointer(rebasing: file[(marker + Self.marker.count)...]))
        guard let end = metadata.end(ofValueAt: 0), end.containers <= 64 else { return "its metadata is damaged" }
        let root = MaxMindValue(data: metadata, offset: 0)
        guard let nodes = root["node_count"]?.number, nodes <= UInt64(UInt32.max),
            let bits = root["record_size"]?.number, bits <= 32
        else { return "its metadata does not say how large the tree is" }
        // Each node has two records; 16 zero bytes separate the tree from the data.
        guard nodes * bits / 4 + 16 <= UInt64(marker) else { return "it is shorter than its tree" }
        return nil
    }

    private static let marker: [UInt8] = [0xAB, 0xCD, 0xEF] + Array("MaxMind.com".utf8)

    private static func lastMarker(in file: UnsafeRawBufferPointer, from first: Int) -> Int? {
        guard file.count - Self.marker.count >= first else { return nil }
        return (first...(file.count - Self.marker.count)).last {
            file[$0] == Self.marker[0] && file[$0...].starts(with: Self.marker)
        }
    }
}
