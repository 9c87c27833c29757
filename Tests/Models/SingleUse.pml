/* A single-use record (transfer token, code, ticket): `Scripts.createSingleUse`, `consume`, `confirm`, and
 * `RedisStore+SingleUse.swift`. Two clients have the same token. Each tries twice, at either gateway, as one attempt
 * (`SessionAttempt`), because answers are lost.
 *
 * Promises:
 *   usedOnce          No two attempts use the record, whatever is lost.
 *   refusedIsNotUsed  Who is refused has not used the record, and will not: an answer that was lost is `unavailable`.
 *   usedIsKept        After a faithful failover, the new primary knows each use that was answered.
 *   parentLived       With SIGN_OUT: a use creates nothing after the end of the parent session was answered.
 *
 * Safeguards that a switch takes out: NO_REIGN and NO_PARENT (the script does not look), NO_MARKER (the script sees only that
 * there is no record), NO_ATTEMPT (each marker is another's), NO_READ_BACK (a lost answer is a refusal), NO_WAIT, NO_CONFIRM
 * (a repeated attempt believes the marker), NO_REWRITE (it asks for a confirmation, and has written nothing), NO_HOLD.
 */
#define TRIES 2

/* One byte: whether there is the record, which was written under reign 1, the attempt in its marker (0: no marker), and
 * whether the parent session lives. */
#define RECORD(v) ((v) & 1)
#define MARKER(v) (((v) >> 1) & 3)
#define PARENT(v) (((v) >> 3) & 1)
#define PACK(record, marker, parent) ((record) | ((marker) << 1) | ((parent) << 3))
/* The token is minted under the first reign: the model begins when the app has it. */
#define FIRST PACK(1, 0, 1)

bool usedOnce = true;
bool refusedIsNotUsed = true;
bool usedIsKept = true;
bool parentLived = true;

inline promise(name, condition) {
    if
    :: (condition)
    :: else -> name = false; assert(name)
    fi
}

/* Under which reign each attempt used the record (0: not), was refused, and the parent's end was answered. */
byte usedUnder[3];
byte refusedUnder[3];
byte parentEndedUnder;
/* The attempt whose use was answered. */
byte answered;
/* A command whose connection was lost, and that its server may still carry out: the reign of that server. */
byte late[3];

inline newReign() {
#ifdef FAITHFUL
    promise(usedIsKept, answered == 0 || restarts > 0 || MARKER(past[head]) == answered)
#else
    skip
#endif
}
inline gatewayMoved(g) { skip }

#include "Redis.pml"

mtype = { done_, changed_, quarantined_, spent_ };

/* `Scripts.consume` at the server of gateway `g`, for a record that was judged. */
inline consume(g, me, result) {
    if
#ifndef NO_MARKER
    :: MARKER(value(g)) != 0 -> result = spent_
#endif
    :: MARKER(value(g)) == 0 && RECORD(value(g)) == 0 -> result = changed_
#ifdef NO_MARKER
    :: MARKER(value(g)) != 0 -> result = changed_
#endif
#ifndef NO_PARENT
    :: RECORD(value(g)) && PARENT(value(g)) == 0 -> result = changed_
#endif
    :: else ->
        if
#ifndef NO_REIGN
        :: reignOf(g) != 1 -> result = quarantined_
#endif
        :: else ->
            promise(usedOnce, usedUnder[1] == 0 && usedUnder[2] == 0);
            promise(refusedIsNotUsed, refusedUnder[me] != reignOf(g));
            promise(parentLived, parentEndedUnder != reignOf(g));
            usedUnder[me] = reignOf(g);
            new = PACK(0, me, PARENT(value(g)));
            write(g, new);
            new = 0;
            result = done_
        fi
    fi
}

proctype Client(byte me) {
    byte g;
    byte tries;
    byte marker;
    byte new;
    byte under;
    byte place;
    mtype result;
    mtype answer;

again:
    atomic {
        marker = 0; under = 0; place = 0; result = 0; answer = 0;
        if
        :: tries == TRIES -> goto over
        :: else -> tries++
        fi;
        /* Where both gateways are connected to the same server, it does not matter which of them is asked. */
        if
        :: g = me - 1
        :: isBehind[0] != isBehind[1] -> g = 2 - me
        fi;
        /* `RedisStore.singleUseWithParent`: one script reads record, marker and parent. */
        if
        :: !serves(g) -> goto again
        :: else -> under = reignOf(g)
        fi;
        if
        :: MARKER(value(g)) != 0 -> marker = MARKER(value(g)); goto spent
        :: MARKER(value(g)) == 0 && (RECORD(value(g)) == 0 || PARENT(value(g)) == 0) -> goto unknown
        :: else -> under = 0
        fi
    }
    /* `RedisStore.consume`: sent, and carried out at once, later, or never. */
    atomic {
        if
        :: !serves(g) || holds(g) -> goto again
        :: else ->
            sent();
            under = reignOf(g);
            if
            :: true -> consume(g, me, result); place = head; marker = MARKER(value(g))
            :: late[me] == 0 -> late[me] = under; goto readBack
            :: goto readBack
            fi
        fi
    }
    atomic {
        wait(under, place, true, answer);
        place = 0;
        if
        :: answer == short_ -> settled(); goto again
        :: answer == lost_ -> goto readBack
        :: answer == confirmed_ && result == done_ -> goto done
        :: answer == confirmed_ && result == quarantined_ -> settled(); goto refused
        :: answer == confirmed_ && result == changed_ -> settled(); goto unknown
        :: answer == confirmed_ && result == spent_ -> settled(); goto spent
        fi
    }
readBack:
    /* `RedisStore.readBack`: no marker proves nothing. */
    atomic {
        settled();
        result = 0; answer = 0;
#ifdef NO_READ_BACK
        goto refused;
#endif
        if
        :: !serves(g) || MARKER(value(g)) == 0 -> goto again
        :: else -> marker = MARKER(value(g)); under = reignOf(g); goto spent
        fi
    }
spent:
    atomic {
        result = 0; answer = 0;
#ifdef NO_ATTEMPT
        goto refused;
#endif
        if
        :: marker != me -> goto refused
        :: else -> marker = 0; under = 0
        fi
    }
    /* `RedisStore.confirm` */
    atomic {
#ifdef NO_CONFIRM
        sent();
        goto done;
#endif
        if
        :: !serves(g) || holds(g) || MARKER(value(g)) != me -> goto again
        :: else ->
            sent();
            under = reignOf(g);
            place = head
        fi
    }
    atomic {
#ifdef NO_REWRITE
        wait(under, place, false, answer);
#else
        wait(under, place, true, answer);
#endif
        if
        :: answer == confirmed_
        :: else -> settled(); goto again
        fi
    }
done:
    atomic {
        settled();
        answered = me;
#ifdef FAITHFUL
        promise(usedIsKept, restarts > 0 || MARKER(past[head]) == me);
#endif
        goto over
    }
unknown:
    /* `Consumption.changed` is judged once more; that is another try here. */
    atomic {
        result = 0; answer = 0; marker = 0;
        if
        :: goto again
        :: goto refused
        fi
    }
refused:
    atomic {
        /* A use under another reign may be lost, and the refusal then says so (`handoff.quarantined`). */
        promise(refusedIsNotUsed, usedUnder[me] == 0 || usedUnder[me] != under);
        refusedUnder[me] = under
    }
over:
    atomic { g = 0; marker = 0; under = 0; place = 0; result = 0; answer = 0; tries = 0 }
}

#ifndef SIGN_OUT
/* Commands that arrive when nobody waits for them any more: over a connection of a gateway that may have gone on since. */
active proctype Late() {
    byte new;
    byte me;
    bool was;
    mtype result;
end:
    do
    :: atomic {
        if
        :: late[1] != 0 -> me = 1
        :: late[2] != 0 -> me = 2
        fi;
        was = isBehind[0];
        if
        :: late[me] == reign -> isBehind[0] = false; consume(0, me, result)
        :: formerServes && late[me] == formerReign -> isBehind[0] = true; consume(0, me, result)
        /* The server has restarted, or the connection is at its end. */
        :: else
        fi;
        isBehind[0] = was;
        late[me] = 0; was = false; me = 0; result = 0
    }
    od
}
#endif

/* The user ends the parent session (`Scripts.endSession`). */
proctype SignOut() {
    byte g;
    byte new;
    byte under;
    byte place;
    mtype answer;
    atomic {
        if :: g = 0 :: g = 1 fi;
        if
        :: !serves(g) -> goto over
        :: else ->
            new = PACK(RECORD(value(g)), MARKER(value(g)), 0);
            write(g, new);
            under = reignOf(g);
            place = head
        fi
    }
    atomic {
        wait(under, place, true, answer);
        if
        :: answer == confirmed_ -> parentEndedUnder = under
        :: else
        fi
    }
over:
    atomic { g = 0; new = 0; under = 0; place = 0; answer = 0 }
}

init {
    atomic {
        run Client(1);
#ifdef SIGN_OUT
        run SignOut()
#else
        run Client(2)
#endif
    }
}
