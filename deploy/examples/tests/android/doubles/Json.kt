package org.json

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.longOrNull

class JSONException(message: String) : Exception(message)

class JSONObject(values: Map<*, *>) {
    private val members = values.entries.associateTo(mutableMapOf()) { "${it.key}" to element(it.value) }

    constructor() : this(emptyMap<String, String>())

    constructor(text: String) : this(parsed(text))

    fun put(name: String, value: String) = apply { members[name] = JsonPrimitive(value) }

    fun put(name: String, value: Boolean) = apply { members[name] = JsonPrimitive(value) }

    fun has(name: String) = name in members

    fun isNull(name: String) = (members[name] ?: JsonNull) is JsonNull

    fun opt(name: String): Any? = when (val value = members[name]) {
        is JsonObject -> JSONObject(value)
        is JsonArray -> JSONArray(value)
        is JsonPrimitive -> if (value.isString) value.content else value.longOrNull ?: value.booleanOrNull
        null -> null
    }

    fun optLong(name: String): Long = opt(name) as? Long ?: 0

    fun getString(name: String): String = opt(name)?.toString() ?: throw JSONException("no $name")

    fun getBoolean(name: String): Boolean = opt(name) as? Boolean ?: throw JSONException("no $name")

    fun getJSONObject(name: String): JSONObject = opt(name) as? JSONObject ?: throw JSONException("no $name")

    fun getJSONArray(name: String): JSONArray = opt(name) as? JSONArray ?: throw JSONException("no $name")

    override fun toString() = JsonObject(members).toString()

    companion object {
        private fun parsed(text: String): Map<String, JsonElement> = try {
            Json.parseToJsonElement(text) as? JsonObject
        } catch (_: IllegalArgumentException) {
            null
        } ?: throw JSONException("no object")

        fun element(value: Any?): JsonElement = when (value) {
            null -> JsonNull
            is JsonElement -> value
            is Boolean -> JsonPrimitive(value)
            is Number -> JsonPrimitive(value)
            is Map<*, *> -> JsonObject(value.entries.associate { "${it.key}" to element(it.value) })
            is List<*> -> JsonArray(value.map { element(it) })
            else -> JsonPrimitive(value.toString())
        }
    }
}

class JSONArray internal constructor(private val elements: JsonArray) {
    constructor(text: String) : this(parsed(text))

    fun length() = elements.size

    fun optJSONObject(index: Int): JSONObject? = (elements.getOrNull(index) as? JsonObject)?.let { JSONObject(it) }

    fun getJSONObject(index: Int): JSONObject = optJSONObject(index) ?: throw JSONException("no object at $index")

    private companion object {
        fun parsed(text: String): JsonArray = try {
            Json.parseToJsonElement(text) as? JsonArray
        } catch (_: IllegalArgumentException) {
            null
        } ?: throw JSONException("no array")
    }
}
