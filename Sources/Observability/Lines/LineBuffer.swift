import Vocabulary

/// Builds JSON lines (RFC 8259) as bytes. The memory grows to the longest batch and is then reused.
///
/// Control bytes, quotes and bytes that are not UTF-8 are escaped. Input from clients can never end a line, and cannot
/// forge log lines (CWE-117).
struct LineBuffer: ~Copyable {
    /// The default maximum length of a value in bytes. Longer values are cut between characters and end with `…`.
    static let valueLimit = 1024

    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0
    private(set) var lines = 0
    private var timestamp = RFC3339()

    init(capacity: Int) {
        self.capacity = max(capacity, 256)
        self.base = .allocate(capacity: self.capacity)
    }

    deinit {
        self.base.deallocate()
    }

    /// The bytes built so far.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: self.base, count: self.count) }

    mutating func removeAll() {
        self.count = 0
        self.lines = 0
    }

    // MARK: Lines and members

    /// Begins a line with the stream and time: `{"stream":"…","time":"…"`.
    mutating func begin(_ stream: StaticString, _ time: UnixTime) {
        self.literal("{\"stream\":\"")
        self.literal(stream)
        self.literal("\",\"time\":\"")
        self.reserve(RFC3339.count)
        self.timestamp.write(time, to: self.base + self.count)
        self.count += RFC3339.count
        self.byte(0x22)
    }

    /// Ends the object and the line.
    mutating func end() {
        self.literal("}\n")
        self.lines += 1
    }

    // Members are inlined: the compiler turns writing a constant name into a few stores.

    /// Writes a member with arbitrary bytes. The bytes are escaped, the name is not.
    @inline(__always)
    mutating func member(_ name: StaticString, _ bytes: UnsafeRawBufferPointer) {
        self.key(name)
        self.string(bytes)
    }

    @inline(__always)
    mutating func member(_ name: StaticString, _ text: String, limit: Int = Self.valueLimit) {
        self.key(name)
        self.string(text, limit: limit)
    }

    /// Writes a member with a text, or nothing for `nil`.
    @inline(__always)
    mutating func member(_ name: StaticString, _ text: String?) {
        if let text { self.member(name, text) }
    }

    /// Writes a member with a constant that needs no escaping.
    @inline(__always)
    mutating func member(_ name: StaticString, _ word: StaticString) {
        self.key(name)
        self.reserve(word.utf8CodeUnitCount + 2)
        self.put(0x22)
        self.put(word)
        self.put(0x22)
    }

    /// Writes a member with a fingerprint, or nothing for `nil`.
    @inline(__always)
    mutating func member(_ name: StaticString, _ fingerprint: Fingerprint?) {
        guard let fingerprint else { return }
        self.key(name)
        self.reserve(Fingerprint.length + 2)
        self.put(0x22)
        fingerprint.write(to: self.base + self.count)
        self.count += Fingerprint.length
        self.put(0x22)
    }

    /// Writes a member with a trace id.
    mutating func member(_ name: StaticString, _ trace: TraceID) {
        self.key(name)
        self.reserve(34)
        self.put(0x22)
        self.hexadecimal(trace.high)
        self.hexadecimal(trace.low)
        self.put(0x22)
    }

    @inline(__always)
    mutating func member(_ name: StaticString, _ number: Int64) {
        self.key(name)
        self.integer(number)
    }

    @inline(__always)
    mutating func member(_ name: StaticString, _ flag: Bool) {
        self.key(name)
        self.literal(flag ? "true" : "false")
    }

    /// Writes `,"name":`.
    @inline(__always)
    mutating func key(_ name: StaticString) {
        self.reserve(name.utf8CodeUnitCount + 4)
        self.put(",\"")
        self.put(name)
        self.put("\":")
    }

    // MARK: Values

    /// Appends members that are already encoded.
    mutating func append(_ members: UnsafeRawBufferPointer) {
        guard let start = members.baseAddress else { return }
        self.reserve(members.count)
        UnsafeMutableRawPointer(self.base + self.count).copyMemory(from: start, byteCount: members.count)
        self.count += members.count
    }

    @inline(__always)
    mutating func literal(_ text: StaticString) {
        self.reserve(text.utf8CodeUnitCount)
        self.put(text)
    }

    mutating func byte(_ byte: UInt8) {
        self.reserve(1)
        self.put(byte)
    }

    mutating func integer(_ number: Int64) {
        self.reserve(20)
        var rest = number.magnitude
        if number < 0 { self.put(UInt8(ascii: "-")) }
        guard rest >= 100_000_000 else { return self.digits(UInt32(truncatingIfNeeded: rest)) }
        var digits = 9
        var power: UInt64 = 1_000_000_000
        while digits < 19 && rest >= power {
            digits += 1
            power &*= 10
        }
        if digits == 19 && rest >= 10_000_000_000_000_000_000 { digits = 20 }
        for index in stride(from: digits - 1, through: 0, by: -1) {
            self.base[self.count + index] = UInt8(truncatingIfNeeded: 48 + rest % 10)
            rest /= 10
        }
        self.count += digits
    }

    /// Writes a number below 100,000,000, by dividing halves, quarters and eighths of a word in parallel. The caller
    /// must have reserved eight bytes.
    @inline(__always)
    private mutating func digits(_ number: UInt32) {
        let upper = number / 10_000
        // The first digits are in the lowest bytes, because these are stored first.
        var word = UInt64(upper) | UInt64(number &- upper &* 10_000) << 32
        var tens = (word &* 5243) >> 19 & 0x7F_0000_007F
        word = tens | (word &- tens &* 100) << 16
        tens = (word &* 103) >> 10 & 0xF_000F_000F_000F
        word = tens | (word &- tens &* 10) << 8
        let zeros = min(word.trailingZeroBitCount / 8, 7)
        let text = (word | 0x3030_3030_3030_3030) >> UInt64(8 &* zeros)
        UnsafeMutableRawPointer(self.base + self.count).storeBytes(of: text.littleEndian, as: UInt64.self)
        self.count &+= 8 &- zeros
    }

    mutating func string(_ text: String, limit: Int = Self.valueLimit) {
        var text = text
        text.withUTF8 { self.string(UnsafeRawBufferPointer($0), limit: limit) }
    }

    /// Writes arbitrary bytes as a JSON string.
    mutating func string(_ bytes: UnsafeRawBufferPointer, limit: Int = Self.valueLimit) {
        let length = bytes.count(ofCharactersWithin: limit)
        // Each byte becomes at most `\u00XX`, plus two quotes and the three bytes of `…`. `plain` writes eight bytes at
        // a time and may write past the end.
        self.reserve(6 &* length &+ 5 &+ 8)
        self.put(0x22)
        if let start = bytes.baseAddress {
            var index = self.plain(start, length)
            while index < length {
                index += self.escape(bytes[index], bytes, index, length)
                index += self.plain(start + index, length - index)
            }
        }
        if length < bytes.count { self.put("…") }
        self.put(0x22)
    }

    // MARK: Bytes in reserved space

    @inline(__always)
    private mutating func put(_ text: StaticString) {
        UnsafeMutableRawPointer(self.base + self.count)
            .copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        self.count &+= text.utf8CodeUnitCount
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        self.base[self.count] = byte
        self.count &+= 1
    }

    /// Writes 16 hexadecimal digits.
    private mutating func hexadecimal(_ number: UInt64) {
        for index in 0..<16 {
            let digit = UInt8(truncatingIfNeeded: number &>> UInt64(60 &- 4 &* index)) & 0xF
            self.base[self.count &+ index] = digit < 10 ? 0x30 &+ digit : 0x57 &+ digit
        }
        self.count &+= 16
    }

    // MARK: Escaping

    /// Writes the leading bytes that need no escaping and returns their number. Overwrites up to seven bytes after
    /// them.
    @inline(__always)
    private mutating func plain(_ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        let target = UnsafeMutableRawPointer(self.base + self.count)
        var index = 0
        if count >= 8 {
            while true {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                target.storeBytes(of: word.littleEndian, toByteOffset: index, as: UInt64.self)
                let special = Self.special(word)
                if special != 0 {
                    index &+= special.trailingZeroBitCount / 8
                    break
                }
                if index == count &- 8 {
                    index = count
                    break
                }
                // The last step may overlap the step before it.
                index = min(index &+ 8, count &- 8)
            }
        } else {
            var word: UInt64 = 0
            index = count
            while index > 0 {
                index &-= 1
                word = word << 8 | UInt64(bytes.load(fromByteOffset: index, as: UInt8.self))
            }
            target.storeBytes(of: word.littleEndian, as: UInt64.self)
            // The padding of zeros is special, too, and ends the run.
            index = Self.special(word).trailingZeroBitCount / 8
        }
        self.count &+= index
        return index
    }

    /// Returns nonzero if any of the eight bytes is not printable ASCII, or is `"` or `\`. The lowest set bit belongs
    /// to the first such byte, because carries and borrows only change higher bytes.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let controls = word &- 0x20 &* ones
        let deletes = word &+ ones
        let quotes = (word ^ 0x22 &* ones) &- ones
        let backslashes = (word ^ 0x5C &* ones) &- ones
        return (word | controls | deletes | quotes | backslashes) & (0x80 &* ones)
    }

    /// Writes the next character escaped, and returns the number of input bytes consumed.
    @inline(never)
    private mutating func escape(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer, _ index: Int, _ end: Int) -> Int {
        switch byte {
        case 0x22, 0x5C:
            self.base[self.count] = 0x5C
            self.base[self.count + 1] = byte
            self.count += 2
            return 1
        case 0x00..<0x80:
            self.unicode(UInt32(byte))
            return 1
        default:
            guard let (scalar, length) = Self.scalar(in: bytes, at: index, end: end) else {
                // A byte that is not UTF-8 is written as if it were Latin-1.
                self.unicode(UInt32(byte))
                return 1
            }
            if Self.isHarmful(scalar) {
                self.unicode(scalar)
            } else {
                for offset in 0..<length {
                    self.base[self.count + offset] = bytes[index + offset]
                }
                self.count += length
            }
            return length
        }
    }

    /// Returns whether a character is dangerous in a log: C1 controls move cursors, U+2028 and U+2029 end lines in some
    /// programs, and bidirectional controls reorder text (CVE-2021-42574).
    private static func isHarmful(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x80...0x9F, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// Writes `\u` and four hexadecimal digits. The caller must have reserved six bytes.
    private mutating func unicode(_ scalar: UInt32) {
        self.base[self.count] = 0x5C
        self.base[self.count + 1] = UInt8(ascii: "u")
        for index in 0..<4 {
            let digit = UInt8(truncatingIfNeeded: scalar >> UInt32(12 - 4 * index)) & 0xF
            self.base[self.count + 2 + index] = digit < 10 ? 48 + digit : 87 + digit
        }
        self.count += 6
    }

    /// Returns the scalar at `index` and its length (Unicode, table 3-7); `nil` for overlong forms, surrogates and
    /// other bytes that are not UTF-8.
    private static func scalar(in bytes: UnsafeRawBufferPointer, at index: Int, end: Int) -> (UInt32, Int)? {
        let lead = bytes[index]
        let length: Int
        var low: UInt8 = 0x80
        var high: UInt8 = 0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0...0xEF:
            length = 3
            if lead == 0xE0 { low = 0xA0 }
            if lead == 0xED { high = 0x9F }
        case 0xF0...0xF4:
            length = 4
            if lead == 0xF0 { low = 0x90 }
            if lead == 0xF4 { high = 0x8F }
        default: return nil
        }
        guard index + length <= end else { return nil }
        var scalar = UInt32(lead) & (0x7F >> UInt32(length))
        for offset in 1..<length {
            let byte = bytes[index + offset]
            guard byte >= low, byte <= high else { return nil }
            low = 0x80
            high = 0xBF
            scalar = scalar << 6 | UInt32(byte & 0x3F)
        }
        return (scalar, length)
    }

    private mutating func reserve(_ extra: Int) {
        if self.count + extra > self.capacity { self.grow(extra) }
    }

    @inline(never)
    private mutating func grow(_ extra: Int) {
        let capacity = max(2 * self.capacity, self.count + extra)
        let base = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        base.update(from: self.base, count: self.count)
        self.base.deallocate()
        self.base = base
        self.capacity = capacity
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the number of bytes of a UTF-8 text to write: all, or as many whole characters as fit in `limit`.
    func count(ofCharactersWithin limit: Int) -> Int {
        if self.count <= limit { return self.count }
        var length = limit
        // A character has at most four bytes. If there is no character boundary in them, the text is not UTF-8.
        while length > limit - 4 && length > 0 && self[length] & 0xC0 == 0x80 { length -= 1 }
        return self[length] & 0xC0 == 0x80 ? limit : length
    }
}
