package verdict

import (
	"reflect"
	"strings"
)

// numbered are the errors of databases that may pass, by their numbers.
var (
	// sqlServer: learn.microsoft.com, Azure SQL, Troubleshoot connectivity issues, "List of transient fault error codes";
	// 10928 and 10929: Resource limits. 1205 and 1222: SqlConfigurableRetryFactory, the list of transient errors. 41301 to
	// 41325: Guidelines for Retry Logic for Transactions on Memory-Optimized Tables.
	sqlServer = map[int64]Verdict{
		40501: overload, 10928: overload, 10929: overload, 49918: overload, 49919: overload, 49920: overload,
		926: again, 4221: again, 40143: again, 40166: again, 40197: again, 40540: again, 40613: again,
		1205: again, 1222: again, 41301: again, 41302: again, 41305: again, 41325: again,
	}
	// clickHouse: ClickHouse, ErrorCodes.cpp; housepower/clickhouse_sinker#22, langwatch/langwatch#6961.
	clickHouse = map[int64]Verdict{202: overload, 203: overload, 252: overload, 159: timeout, 209: timeout, 210: again}
)

// classifyNumber reads the numbers of SQL Server (SQLErrorNumber, of go-mssqldb) and of ClickHouse (Code and Name, of
// clickhouse-go).
func classifyNumber(f *tree) Verdict {
	if n, ok := first[interface{ SQLErrorNumber() int32 }](f); ok {
		return sqlServer[int64(n.SQLErrorNumber())]
	}
	for s := range (shapes{f}).all {
		if name, _ := as[string](s.get("Name")); name == "DB::Exception" {
			if code := s.get("Code"); code.Kind() == reflect.Int32 {
				return clickHouse[code.Int()]
			}
		}
	}
	return Verdict{}
}

// firstWords are the words with which an error of Redis begins: Redis, Cluster specification; TRYAGAIN, CLUSTERDOWN,
// MASTERDOWN, LOADING. READONLY, of a replica that is to be the master: redis/go-redis, cluster client.
var firstWords = map[string]Verdict{
	"TRYAGAIN": again, "CLUSTERDOWN": again, "MASTERDOWN": again, "READONLY": again, "LOADING": overload,
}

// names are those of MongoDB's errors, within the text of its driver: mongodb/specifications, Retryable writes.
var names = []string{"(NotWritablePrimary)", "(NotPrimaryNoSecondaryOk)", "(NotPrimaryOrSecondary)", "(PrimarySteppedDown)",
	"(InterruptedDueToReplStateChange)", "(InterruptedAtShutdown)", "(ShutdownInProgress)"}

// oracle are numbers of Oracle that may pass, in lower case: the sessions and processes are used up, or the listener has no
// handler; a lock, a deadlock, and a transaction that lost. 00020: docs.oracle.com/en/error-help/db/ora-00020. 02391:
// oracle/node-oracledb#1612, OpenIdentityPlatform/OpenDJ#1018. The others are from memory.
var oracle = map[string]Verdict{
	"ora-00018": overload, "ora-00020": overload, "ora-12516": overload, "ora-12519": overload, "ora-12520": overload, "ora-02391": overload,
	"ora-00054": again, "ora-00060": again, "ora-08177": again,
}

// classifyDatabase reads an error by what the text of a database begins with, or names.
func classifyDatabase(f *tree) Verdict {
	text := f.words()
	word, _, _ := strings.Cut(text[:min(len(text), 64)], " ")
	if v, ok := firstWords[word]; ok && word != text {
		return v
	}
	if strings.Contains(text, "(") && f.says(names...) {
		return again
	}
	if i := strings.Index(text, "ORA-"); i >= 0 && i+9 <= len(text) {
		return oracle[strings.ToLower(text[i:i+9])]
	}
	return Verdict{}
}
